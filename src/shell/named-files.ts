import type { Field } from './field.ts';
import { type Frame, unknown } from './frame.ts';
import { isGlob } from './glob.ts';
import { limits } from './limits.ts';
import { resolvePath } from './paths.ts';
import { isAt, readPlace } from './place.ts';
import { samplePlaces } from './places.ts';

/** What a word stands for once globs are matched: the protected paths it may name, and files that cannot be known. */
export function namedFiles(field: Field, frame: Frame): string[] {
  if (!isGlob(field.pattern)) return [field.text];
  return [...protectedFiles(field, frame), unknown(frame, 'unknown', `file ${field.text}`)];
}

/** A word as it is printed: the protected paths where a glob names some, else as it is spelled. */
export function printedWord(field: Field, frame: Frame): string {
  const met = isGlob(field.pattern) ? protectedFiles(field, frame) : [];
  return met.length > 0 ? met.join(' ') : field.text;
}

function protectedFiles(field: Field, frame: Frame): string[] {
  const path = resolvePath(field, frame);
  return samplePlaces(frame.inspection.policy)
    .filter((place) => isAt(path, readPlace(place)))
    .slice(0, limits.values);
}
