import type { Field } from './field.ts';
import { type Frame, unknown } from './frame.ts';
import { isGlob } from './glob.ts';
import { fileKey, resolvePath } from './paths.ts';
import { isAt, readPlace } from './place.ts';

/** What is known of a file: what this command wrote into it. */
export function contentOf(file: Field, frame: Frame): string {
  if (file.text === '/dev/null') return '';
  if (file.text === '/dev/stdin' || file.text === '-') return frame.stdin;
  return writtenContent(file, frame) ?? unknown(frame, 'unknown', `content of ${file.text}`);
}

/** As `contentOf`, and `undefined` for a file that this command did not write. A glob means every file it matches. */
export function writtenContent(file: Field, frame: Frame): string | undefined {
  const { files } = frame.inspection;
  if (!isGlob(file.pattern)) return files.get(fileKey(file, frame));
  const path = resolvePath(file, frame);
  const met = [...files].filter(([name]) => isAt(path, readPlace(name))).map(([, content]) => content);
  frame.inspection.budget.spend(files.size, frame.at);
  return met.length === 0 ? undefined : met.join('\n');
}

export function writeFile(file: Field, text: string, append: boolean, frame: Frame): void {
  const key = fileKey(file, frame);
  const content = append ? (frame.inspection.files.get(key) ?? '') + text : text;
  frame.inspection.budget.read(content, frame.at);
  frame.inspection.files.set(key, content);
}
