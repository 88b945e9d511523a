/** Bindings as users write them. */
import { GeodeError } from '../base/errors.ts';
import type { BindingSpec } from '../seams/egress.ts';

/**
 * `NAME` or `NAME=URL`, followed by `add=bearer`, `methods=GET,POST`, `paths=/v1/*`, `inspect`, separated by spaces.
 */
export function parseBinding(text: string): BindingSpec {
  const [first = '', ...words] = text.trim().split(/\s+/);
  const at = first.indexOf('=');
  const name = at === -1 ? first : first.slice(0, at);
  const spec: { -readonly [key in keyof BindingSpec]: BindingSpec[key] } = { name };
  if (at !== -1) spec.upstream = first.slice(at + 1);
  for (const word of words) {
    const [key, value = ''] = word.split(/=(.*)/s, 2);
    if (word === 'inspect') spec.inspect = true;
    else if (key === 'add') spec.add = value;
    else if (key === 'methods') spec.methods = value.split(',');
    else if (key === 'paths') spec.paths = value.split(',');
    else
      throw wrong(
        `${JSON.stringify(word)} says nothing of a binding.`,
        'After NAME=URL may stand add=, methods=, paths= and inspect.',
      );
  }
  return spec;
}

/** As typed on the command line. */
export function shownBinding({ name, upstream, add, methods, paths, inspect }: BindingSpec): string {
  return [
    upstream === undefined ? name : `${name}=${upstream}`,
    ...(add === undefined ? [] : [`add=${add}`]),
    ...(methods === undefined ? [] : [`methods=${methods.join(',')}`]),
    ...(paths === undefined ? [] : [`paths=${paths.join(',')}`]),
    ...(inspect ? ['inspect'] : []),
  ].join(' ');
}

function wrong(message: string, hint: string): GeodeError {
  return new GeodeError('invalid_input', message, { hint, details: { usage: true } });
}
