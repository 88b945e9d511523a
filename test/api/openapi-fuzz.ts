/** Requests made from an OpenAPI document: mostly what a schema allows, at times what it forbids. */
import fc from 'fast-check';

type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

export interface FuzzedRequest {
  readonly path: string;
  readonly body: unknown;
  readonly contentType: string | undefined;
}

const someIds = fc.constantFrom('a', 'b/c');

/** Operations that create come before those that read, and those that remove come last. */
export function operationsOf(document: Json): Operation[] {
  const operations = Object.entries(asObject(document.paths)).flatMap(([path, item]) =>
    Object.entries(asObject(item)).map(([method, operation]) => ({
      method,
      path,
      operation: asObject(operation),
    })),
  );
  const order = ['post', 'put', 'get', 'delete'];
  return operations.sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
}

export function requestsFor(document: Json, { path, operation }: Operation): fc.Arbitrary<FuzzedRequest> {
  const parameters = asArray(operation.parameters).map(asObject);
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  const [contentType, media] = Object.entries(asObject(asObject(operation.requestBody).content))[0] ?? [];
  const schemaOf = (parameter: Json) => valuesOf(document, asObject(parameter.schema));

  return fc
    .record({
      path: fc.record(
        // Often the same few, so that a request means what an earlier one made.
        Object.fromEntries(
          inPath.map(({ name, schema }) => [
            String(name),
            fc.oneof(someIds, valuesOf(document, asObject(schema))),
          ]),
        ),
      ),
      query: fc.record(
        Object.fromEntries(inQuery.map((parameter) => [String(parameter.name), schemaOf(parameter)])),
        {
          requiredKeys: inQuery.filter(({ required }) => required === true).map(({ name }) => String(name)),
        },
      ),
      stray: fc.oneof(
        { weight: 19, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.tuple(fc.string(), fc.string()) },
      ),
      body:
        media === undefined
          ? fc.constant(undefined)
          : mostly(valuesOf(document, asObject(asObject(media).schema))),
    })
    .map(({ path: inside, query, stray, body }) => ({
      path: `${fillPath(path, inside)}${queryOf(query, stray)}`,
      body,
      contentType,
    }));
}

function fillPath(path: string, values: Json): string {
  return path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name]).toWellFormed()));
}

function queryOf(query: Json, stray: readonly [string, string] | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat())
      search.append(name, typeof each === 'string' ? each : JSON.stringify(each));
  }
  if (stray) search.append(...stray);
  return search.size > 0 ? `?${search}` : '';
}

/** Values that a schema allows, and now and then something else. */
function mostly(allowed: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: allowed }, { weight: 1, arbitrary: fc.jsonValue() });
}

function valuesOf(document: Json, schema: Json): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') return valuesOf(document, resolve(document, schema.$ref));
  const union = asArray(schema.anyOf ?? schema.oneOf);
  if (union.length > 0) return fc.oneof(...union.map((each) => valuesOf(document, asObject(each))));
  if (Array.isArray(schema.enum)) return mostly(fc.constantFrom(...schema.enum));
  const [type] = [schema.type].flat();
  if (type === 'object') return objectsOf(document, schema);
  if (type === 'array') {
    const items = valuesOf(document, asObject(schema.items));
    return mostly(fc.array(items, { minLength: Number(schema.minItems ?? 0), maxLength: 5 }));
  }
  if (type === 'integer' || type === 'number') return numbersOf(schema, type);
  if (type === 'boolean') return mostly(fc.boolean());
  if (type === 'string') return stringsOf(schema);
  return fc.jsonValue();
}

function objectsOf(document: Json, schema: Json): fc.Arbitrary<unknown> {
  const properties = Object.entries(asObject(schema.properties));
  const required = asArray(schema.required).map(String);
  const allowed = fc.record(
    Object.fromEntries(properties.map(([name, property]) => [name, valuesOf(document, asObject(property))])),
    { requiredKeys: required },
  );
  const withStray = fc
    .tuple(allowed, fc.string(), fc.jsonValue())
    .map(([object, name, value]) => ({ ...object, [name]: value }));
  return fc.oneof(
    { weight: 40, arbitrary: allowed },
    { weight: 1, arbitrary: withStray },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
}

function numbersOf(schema: Json, type: string): fc.Arbitrary<unknown> {
  const min = Number(schema.minimum ?? -1000);
  const max = Math.min(Number(schema.maximum ?? 1000), Number.MAX_SAFE_INTEGER);
  const allowed =
    type === 'integer'
      ? fc.integer({ min, max: Math.min(max, 0x7fffffff) })
      : fc.double({ min, max, noNaN: true });
  const edges = fc.constantFrom(min - 1, max + 1, 0.5, -0, 1e308, '', 'NaN', 'Infinity', '0x10', ' 7 ');
  return fc.oneof({ weight: 30, arbitrary: allowed }, { weight: 1, arbitrary: edges });
}

function stringsOf(schema: Json): fc.Arbitrary<unknown> {
  const minLength = Number(schema.minLength ?? 0);
  const maxLength = Math.min(Number(schema.maxLength ?? 200), 200);
  const free = fc.oneof(
    { weight: 10, arbitrary: fc.string({ minLength, maxLength, unit: 'grapheme' }) },
    { weight: 10, arbitrary: fc.string({ minLength, maxLength, unit: 'binary' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('search', '../..', "' OR 1=1 --", 'NEAR(a b)', '*', '\u0000', '\uD800'),
    },
    { weight: 1, arbitrary: fc.constant('x'.repeat(11_000)) },
  );
  if (schema.format === 'date-time') {
    return mostly(
      fc
        .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01') })
        .map((date) => date.toISOString()),
    );
  }
  if (typeof schema.pattern === 'string') {
    return fc.oneof(
      { weight: 30, arbitrary: fc.stringMatching(new RegExp(schema.pattern)) },
      { weight: 1, arbitrary: free },
    );
  }
  return free;
}

function resolve(document: Json, ref: string): Json {
  return ref
    .replace('#/', '')
    .split('/')
    .reduce<Json>((node, key) => asObject(node[key]), document);
}

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
