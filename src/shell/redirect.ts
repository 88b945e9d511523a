import type { HereDoc, Redirect, Redirection } from 'unbash';
import { expandHereDoc, expandText, expandWord } from './expand.ts';
import type { Field } from './field.ts';
import type { Frame } from './frame.ts';
import { checkRedirect } from './rules/redirects.ts';
import { contentOf, writeFile } from './written-files.ts';

interface Output {
  readonly file: Field | undefined;
  readonly append: boolean;
}

/** Runs a command with its redirections: what it reads becomes its input, what it writes goes to the named files. */
export function runRedirected(
  redirects: readonly Redirection[],
  frame: Frame,
  run: (frame: Frame) => string,
): string {
  let { stdin } = frame;
  let output: Output | undefined;
  for (const redirect of redirects) {
    const descriptor = redirect.descriptor?.type === 'FileDescriptor' ? redirect.descriptor.value : undefined;
    if (redirect.type === 'HereDoc') {
      const text = hereDocText(redirect, frame);
      if ((descriptor ?? 0) === 0) stdin = text;
    } else if (redirect.type === 'HereString') {
      const text = redirect.target === undefined ? '' : `${expandText(redirect.target, frame)}\n`;
      if ((descriptor ?? 0) === 0) stdin = text;
    } else {
      const target = redirect.target === undefined ? undefined : expandWord(redirect.target, frame)[0];
      if (target === undefined) continue;
      checkRedirect(redirect.operator, target, frame);
      if (redirect.operator.startsWith('<')) {
        if ((descriptor ?? 0) === 0 && redirect.operator !== '<&') stdin = contentOf(target, frame);
      } else if (writesOutput(redirect, descriptor, target)) {
        const toDescriptor = redirect.operator === '>&' && /^(?:\d+|-)$/.test(target.text);
        output = { file: toDescriptor ? undefined : target, append: redirect.operator.endsWith('>>') };
      }
    }
  }
  const written = run({ ...frame, stdin });
  for (const sink of frame.sinks.splice(0)) {
    frame.shell.runScript(sink, {
      ...frame,
      scope: frame.scope.fork(),
      stdin: written === '' ? stdin : written,
    });
  }
  if (output === undefined) return written;
  if (output.file !== undefined) writeFile(output.file, written, output.append, frame);
  return '';
}

function writesOutput(redirect: Redirect, descriptor: number | undefined, target: Field): boolean {
  if (redirect.operator.startsWith('&')) return true;
  if ((descriptor ?? 1) !== 1) return false;
  // `>&1` changes nothing.
  return !(redirect.operator === '>&' && target.text === '1');
}

function hereDocText(redirect: HereDoc, frame: Frame): string {
  const { body, delimiter, operator } = redirect;
  const text = delimiter?.quoted === true ? body.text : expandHereDoc(body.parts, body.text, frame);
  return operator === '<<-' ? text.replace(/^\t+/gm, '') : text;
}
