import { errorCatalogue } from '../src/base/error-catalogue.ts';

/** `docs/errors.md`, made from the catalogue. */
export function errorsDocument(): string {
  const rows = Object.entries(errorCatalogue).map(
    ([code, { status, hint }]) => `| \`${code}\` | ${status} | ${hint} |`,
  );
  return [
    '# Errors',
    '',
    'Every refusal carries a code from this list, the reason and the next step. Made by `npm run docs`.',
    '',
    '| code | HTTP status | what to do |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
