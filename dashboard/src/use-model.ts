import { useQuery } from '@tanstack/react-query';
import { client, readSession } from './api.ts';

/** The model that agents use by default; undefined where none is configured, or the user may not see it. */
export function useModel(): string | undefined {
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  const isAdmin = session.data?.scopes.includes('admin') ?? false;
  const settings = useQuery({ queryKey: ['settings'], queryFn: () => client.settings(), enabled: isAdmin });
  const value = settings.data?.find(({ name }) => name === 'providers.default')?.value;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
