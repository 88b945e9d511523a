import type { Span } from '../../base/spans.ts';
import type { Binding } from './bindings.ts';

/** The span of one call of a model by a program in the sandbox, by OpenTelemetry's GenAI conventions. */
export function modelSpan({ name, upstream }: Binding, parent: Span | undefined): Span | undefined {
  return parent?.child('chat', {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': name,
      'server.address': upstream.hostname,
    },
  });
}
