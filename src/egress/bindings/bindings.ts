import { GeodeError } from '../../base/errors.ts';
import { type BindingSpec, placeholderKey as placeholder } from '../../seams/egress.ts';

/** An upstream with a credential that the host adds. The sandbox sees a local URL and a placeholder. */
export interface Binding {
  readonly name: string;
  readonly upstream: URL;
  /** Set by the operator, so the upstream may be private. */
  readonly isOwnUpstream: boolean;
  /** Name of the secret to add; null: none is needed. */
  readonly secret: string | null;
  readonly header: (secret: string) => readonly [name: string, value: string];
  /** Query parameter for the credential, instead of a header. */
  readonly query?: string | undefined;
  /** Allowed requests; default: every request to the upstream. */
  readonly only: Pick<BindingSpec, 'methods' | 'paths'>;
  /** Also answers calls of the upstream's own https URL. */
  readonly inspect: boolean;
  /** Counts tokens and enforces the budget. */
  readonly metered: boolean;
  /** Leads to the relay of traces, not to an upstream. */
  readonly isTelemetry?: boolean;
  readonly variables: (url: string) => Readonly<Record<string, string>>;
}

type Kind = Pick<Binding, 'header' | 'metered' | 'variables'> & {
  readonly upstream: string | null;
  readonly needsSecret: boolean;
};

const bearer = (secret: string) => ['Authorization', `Bearer ${secret}`] as const;
const named = (name: string) => (secret: string) => [name, secret] as const;

/** The binding through which a sandbox sends traces. */
const telemetryBinding = 'otlp';

const kinds: Readonly<Record<string, Kind>> = {
  anthropic: {
    upstream: 'https://api.anthropic.com',
    needsSecret: true,
    header: named('x-api-key'),
    metered: true,
    variables: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: placeholder }),
  },
  openai: {
    upstream: 'https://api.openai.com/v1',
    needsSecret: true,
    header: bearer,
    metered: true,
    variables: (url) => ({ OPENAI_BASE_URL: url, OPENAI_API_BASE: url, OPENAI_API_KEY: placeholder }),
  },
  gemini: {
    upstream: 'https://generativelanguage.googleapis.com',
    needsSecret: true,
    header: named('x-goog-api-key'),
    metered: false,
    variables: (url) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: placeholder,
      GOOGLE_API_KEY: placeholder,
    }),
  },
  openrouter: {
    upstream: 'https://openrouter.ai/api/v1',
    needsSecret: true,
    header: bearer,
    metered: true,
    variables: (url) => ({ OPENROUTER_BASE_URL: url, OPENROUTER_API_KEY: placeholder }),
  },
  'openai-compatible': {
    upstream: null,
    needsSecret: false,
    header: bearer,
    metered: true,
    variables: (url) => ({ OPENAI_BASE_URL: url, OPENAI_API_BASE: url, OPENAI_API_KEY: placeholder }),
  },
  github: {
    upstream: 'https://api.github.com',
    needsSecret: true,
    header: bearer,
    metered: false,
    variables: (url) => ({ GITHUB_API_URL: url, GITHUB_TOKEN: placeholder }),
  },
  npm: {
    upstream: 'https://registry.npmjs.org',
    needsSecret: true,
    header: bearer,
    metered: false,
    variables: (url) => ({ npm_config_registry: `${url}/`, NPM_CONFIG_REGISTRY: `${url}/` }),
  },
  [telemetryBinding]: {
    // A name that no resolver knows: nothing is ever dialled.
    upstream: 'http://collector.geode.invalid',
    needsSecret: false,
    header: bearer,
    metered: false,
    // The relay takes traces only, so SDKs send nothing else.
    variables: (url) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    }),
  },
  pypi: {
    upstream: 'https://pypi.org',
    needsSecret: true,
    header: (secret) => ['Authorization', `Basic ${Buffer.from(`__token__:${secret}`).toString('base64')}`],
    metered: false,
    variables: (url) => ({ PIP_INDEX_URL: `${url}/simple/`, UV_INDEX_URL: `${url}/simple/` }),
  },
};

const bindingNames = Object.keys(kinds);

/** Facts about a binding, for display. */
export interface BindingFacts {
  readonly name: string;
  /** Null: given with the binding. */
  readonly upstream: string | null;
  readonly needsSecret: boolean;
  readonly metered: boolean;
  /** Environment variables that tools in the sandbox read. */
  readonly variables: readonly string[];
}

export function knownBindings(): readonly BindingFacts[] {
  return Object.entries(kinds).map(([name, { upstream, needsSecret, metered, variables }]) => ({
    name,
    upstream,
    needsSecret,
    metered,
    variables: Object.keys(variables('')),
  }));
}

/** Refuses an invalid binding before anything is opened. */
export function bindingOf(spec: BindingSpec): Binding {
  const { name, upstream, methods, paths, inspect = false } = spec;
  if (
    name === telemetryBinding &&
    Object.values({ ...spec, name: undefined }).some((set) => set !== undefined)
  )
    throw wrong(
      'The binding otlp leads to the collector of the host.',
      'Leave the URL and everything else out: --bind otlp',
    );
  const kind = kindOf(spec);
  const given = upstream ?? kind.upstream;
  if (given === null)
    throw wrong(`${name} needs an upstream URL.`, `Name it: --bind ${name}=http://10.0.0.5:11434/v1`);
  const url = urlOf(given);
  if (inspect && url.protocol !== 'https:')
    throw wrong(`${name} uses ${given}, which has no TLS to inspect.`, 'Leave inspect out.');
  return {
    name,
    upstream: url,
    isOwnUpstream: upstream !== undefined,
    secret: kind.needsSecret ? name : null,
    header: kind.header,
    query: spec.add?.startsWith('query:') ? spec.add.slice('query:'.length) : undefined,
    only: { ...(methods && { methods }), ...(paths && { paths }) },
    inspect,
    metered: kind.metered,
    isTelemetry: name === telemetryBinding,
    variables: kind.variables,
  };
}

/** A known kind of binding, or a custom one that specifies everything itself. */
function kindOf({ name, upstream, add }: BindingSpec): Kind {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind !== undefined && add === undefined) return kind;
  if (!/^[a-z0-9][a-z0-9-]{0,30}$/.test(name) || upstream === undefined || add === undefined)
    throw wrong(
      `There is no binding ${JSON.stringify(name)}.`,
      `Known bindings: ${bindingNames.join(', ')}. For your own, give the URL and how to add the secret: --bind "${name}=https://api.example.com add=bearer".`,
    );
  const variable = name.toUpperCase().replaceAll('-', '_');
  return {
    upstream: null,
    needsSecret: true,
    header: headerFor(add),
    metered: kind?.metered ?? false,
    variables:
      kind?.variables ?? ((url) => ({ [`${variable}_URL`]: url, [`${variable}_TOKEN`]: placeholder })),
  };
}

function headerFor(add: string): Kind['header'] {
  const [how, name = ''] = add.split(':', 2);
  if (add === 'bearer') return bearer;
  if (add === 'basic')
    return (secret) => ['Authorization', `Basic ${Buffer.from(secret).toString('base64')}`];
  if (how === 'header' && /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name) && !framing.has(name.toLowerCase()))
    return named(name);
  if (how === 'query' && /^[A-Za-z0-9_.-]{1,64}$/.test(name)) return named('');
  throw wrong(
    `${JSON.stringify(add)} is not a way to add a credential.`,
    'Use bearer, basic, header:NAME or query:NAME.',
  );
}

/** Headers that frame or route a message: no credential may replace them. */
const framing: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw wrong(
      `${JSON.stringify(text)} is not an upstream.`,
      'Use http:// or https:// with a host and a path.',
    );
  return url;
}

function wrong(message: string, hint: string): GeodeError {
  return new GeodeError('invalid_input', message, { hint, details: { usage: true } });
}
