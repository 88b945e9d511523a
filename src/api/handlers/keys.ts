import type { keys } from '../../contract/keys.ts';
import type { ApiKey, KeyStore } from '../../identity/keys.ts';
import { type EventSink, noEvents } from '../../seams/events.ts';
import type { Handlers } from '../serve.ts';

export function keyHandlers(store: KeyStore, events: EventSink = noEvents): Handlers<typeof keys> {
  return {
    list: () => store.list().map(shown),
    create({ user, scopes, label = '' }) {
      const { key, secret } = store.create({ user, scopes, label });
      events.emit(user, { type: 'key-create', key: key.id });
      return { ...shown(key), secret };
    },
    revoke({ id }) {
      store.revoke(id);
      const revoked = store.list().find((key) => key.id === id);
      if (revoked !== undefined) events.emit(revoked.user, { type: 'key-revoke', key: id });
    },
  };
}

function shown({ createdAt, revokedAt, ...key }: ApiKey) {
  return { ...key, createdAt: createdAt.toISOString(), revokedAt: revokedAt?.toISOString() ?? null };
}
