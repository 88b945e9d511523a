import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { chatKey } from '../base/identity.ts';
import { parsedJson } from '../base/json.ts';
import type { PersistentSpec } from '../seams/persistent.ts';
import type { RuntimeName } from '../seams/runtime.ts';

const longestName = 8 * 1024;
const mostLabels = 64;
const longestLabel = 4 * 1024;

/** The owner of a sandbox and its requested settings: the part of the ledger that the sandbox's own record repeats. */
export interface Owner {
  readonly user: string;
  readonly chat: string;
  readonly spec: PersistentSpec;
}

const ownerSchema = z.tuple([z.string(), z.string(), z.record(z.string(), z.unknown())]);

/** A list, so that user and chat cannot run into each other. */
export function ownerText({ user, chat, spec }: Owner): string {
  return JSON.stringify([user, chat, spec]);
}

/** Undefined if it belongs to nobody, or not to a chat. */
export function parseOwner(text: string | null): Owner | undefined {
  const known = ownerSchema.safeParse(parsedJson(text ?? '')).data;
  if (known === undefined) return undefined;
  const [user, chat, spec] = known;
  return { user, chat, spec };
}

/** Any text is a valid name, except one with an unpaired surrogate: all of those would be equal when stored. */
export function checkName(name: string, what: 'user' | 'chat'): string {
  if (
    typeof name === 'string' &&
    name !== '' &&
    name.isWellFormed() &&
    Buffer.byteLength(name) <= longestName
  )
    return name;
  throw new GeodeError(
    'invalid_input',
    `The ${what} name is not valid: use text of 1 to ${longestName} bytes in UTF-8.`,
  );
}

export function checkLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const pairs = Object.entries(labels);
  const wrong = pairs.find(
    ([name, value]) =>
      !/^[a-z0-9][a-z0-9._/-]{0,127}$/i.test(name) ||
      typeof value !== 'string' ||
      !value.isWellFormed() ||
      value.length > longestLabel,
  );
  if (pairs.length <= mostLabels && wrong === undefined) return labels;
  throw new GeodeError(
    'invalid_input',
    wrong === undefined
      ? `There are ${pairs.length} labels; the maximum is ${mostLabels}.`
      : `The label ${JSON.stringify(wrong[0].slice(0, 128))} is not valid: use up to 128 of a-z, 0-9, ".", "_", "/" and "-" for its name, and text of up to ${longestLabel} characters for its value.`,
  );
}

export function keyOf(user: string, chat: string): string {
  return chatKey(checkName(user, 'user'), checkName(chat, 'chat'));
}

/** Lists every field by name, so an unknown one is refused. Otherwise a typing error would be ignored. */
const specFields: Readonly<Record<keyof PersistentSpec, true>> = {
  runtime: true,
  labels: true,
  image: true,
  env: true,
  limits: true,
  mounts: true,
  network: true,
  minimumGrade: true,
  rootAccess: true,
  leaseMs: true,
  egress: true,
};

/** The stored form, without undefined fields. */
export function checkPersistentSpec(spec: PersistentSpec): PersistentSpec {
  const strange = Object.keys(spec).find((field) => !Object.hasOwn(specFields, field));
  if (strange === undefined) return JSON.parse(JSON.stringify(spec, finite));
  throw new GeodeError('invalid_input', `A sandbox has no setting ${JSON.stringify(strange)}.`, {
    hint: `It has ${Object.keys(specFields).join(', ')}.`,
  });
}

/** Stored as JSON, such a number would become `null`, which means no limit. */
function finite(field: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value;
  throw new GeodeError('invalid_input', `${field} is ${value}, but must be a number.`);
}

/** A caller that names settings must not get a sandbox with others. Labels may differ, because they can be changed. */
export function checkAgreement(
  { labels: _, egress: __, runtime, ...asked }: PersistentSpec,
  made: { readonly runtime: RuntimeName; readonly spec: PersistentSpec },
): void {
  const fields = Object.entries(asked).filter(
    ([field, value]) => !isDeepStrictEqual(value, made.spec[field as keyof PersistentSpec]),
  );
  const [field] = runtime !== undefined && runtime !== made.runtime ? ['runtime'] : (fields[0] ?? []);
  if (field === undefined) return;
  throw new GeodeError('sandbox_exists', `The sandbox of this chat has another ${field}.`, {
    hint: `Leave out ${field}, or remove the sandbox first.`,
    details: { field },
  });
}
