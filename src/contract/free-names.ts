/** Finds the names in a schema that are not Geode's: keys of records, and fields that the schema does not list. */
import type { z } from 'zod';
import type { Schema } from './operation.ts';
import { anyName, type Free } from './rename.ts';

const known = new WeakMap<object, Free | undefined>();

export function freeNames(schema: Schema | undefined): Free | undefined {
  if (schema === undefined) return undefined;
  if (!known.has(schema)) {
    // A recursive schema is visited again during its own visit.
    known.set(schema, undefined);
    known.set(schema, namesIn(defOf(schema)));
  }
  return known.get(schema);
}

/** The names of an object's fields. */
export function fieldNames(schema: Schema): readonly string[] {
  const def = defOf(schema);
  if (def.type !== 'object') throw new Error('Only an object has fields that can be listed');
  return Object.keys(def.shape);
}

type Def = z.core.$ZodTypes['_zod']['def'];

function defOf(schema: Schema): Def;
function defOf({ _zod: inside }: { readonly _zod: object }): unknown {
  return 'def' in inside ? inside.def : undefined;
}

function namesIn(def: Def): Free | undefined {
  switch (def.type) {
    case 'unknown':
    case 'any':
      return true;
    case 'object':
      return inFields(def);
    case 'record': {
      const below = freeNames(def.valueType);
      return below === undefined && !hasFields(def.valueType) ? true : { [anyName]: below ?? {} };
    }
    case 'array':
      return freeNames(def.element);
    case 'tuple':
      return joined(def.items.map((item) => freeNames(item)));
    case 'union':
      return joined(def.options.map((option) => freeNames(option)));
    case 'intersection':
      return joined([freeNames(def.left), freeNames(def.right)]);
    case 'pipe':
      return joined([freeNames(def.in), freeNames(def.out)]);
    case 'lazy':
      return freeNames(def.getter());
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return freeNames(def.innerType);
    default:
      return undefined;
  }
}

function inFields({ shape, catchall }: z.core.$ZodObjectDef): Free | undefined {
  if (catchall !== undefined && defOf(catchall).type !== 'never')
    throw new Error('A schema with fields and more is no record: name its fields, or use z.record');
  const entries = Object.entries(shape).flatMap(([name, field]) => {
    const free = freeNames(field);
    return free === undefined ? [] : [[name, free] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Whether values of the schema have field names. */
function hasFields(schema: Schema): boolean {
  const def = defOf(schema);
  if (def.type === 'object' || def.type === 'record') return true;
  if (def.type === 'union') return def.options.some((option) => hasFields(option));
  if (def.type === 'array') return hasFields(def.element);
  if (def.type === 'optional' || def.type === 'nullable') return hasFields(def.innerType);
  return false;
}

function joined(all: readonly (Free | undefined)[]): Free | undefined {
  return all.reduce((one, other) => {
    if (one === undefined || other === undefined) return one ?? other;
    if (one === true || other === true) return true;
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return Object.fromEntries(
      names.flatMap((name) => {
        const free = joined([one[name], other[name]]);
        return free === undefined ? [] : [[name, free]];
      }),
    );
  }, undefined);
}
