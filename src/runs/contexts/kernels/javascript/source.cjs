'use strict';

/**
 * What has to be known of a piece of source before it runs. V8 itself is the parser: every question is asked
 * by compiling a variant of the source and looking at where it fails.
 */
const nodeModule = require('node:module');
const vm = require('node:vm');

const opening = 'async () => {';
const importAny = /(?<!(?<!\.\.)\.\s*)\bimport(?=\s*\()/g;
const importStatement =
  /import\s+(?:([\w$]+)\s*(?:,\s*)?)?(?:\*\s*as\s+([\w$]+)\s*|\{([^}]*)\}\s*)?(?:from\s*)?(['"])(.+?)\4(?:\s+with\s*(\{[^}]*\}))?/y;

/** The name under which scripts without a loader of their own reach the loader. */
exports.importName = '__import';

/** `import` statements and calls become calls of the kernel's loader; `{…}` on its own is an object. */
exports.prepare = (code) => {
  const prepared = importCalls(importStatements(code));
  const isObject =
    /^\s*\{/.test(prepared) && /\}\s*$/.test(prepared) && failure(`(${prepared}\n)}`) === undefined;
  return isObject ? `(${prepared}\n)` : prepared;
};

const typed = /^\s*%%(?:ts|typescript)[^\n]*\n/;

/** The code itself, or what is left of TypeScript (`%%typescript` in its first line) without its types. */
exports.withoutTypes = (code) => {
  if (!typed.test(code)) return code;
  const strip = nodeModule.stripTypeScriptTypes;
  if (strip === undefined)
    throw new Error(`TypeScript needs Node 22.13 or newer here; this is ${process.version}`);
  const source = code.replace(typed, '');
  const { emitWarning } = process;
  // Node calls it experimental, which is no news for the code.
  process.emitWarning = () => {};
  try {
    return strip(source);
  } catch (error) {
    // Enums and their like are more than types: they become code, on other lines.
    if (error?.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw new SyntaxError(error.message);
    return strip(source, { mode: 'transform' });
  } finally {
    process.emitWarning = emitWarning;
  }
};

/** Whether a line of a terminal is `complete`, wants another one (`incomplete`), or can never be right. */
exports.state = (typed) => {
  const code = importStatements(typed);
  const failed = failure(`${code}\n}`);
  if (failed === undefined) return 'complete';
  const cut = failure(code);
  if (cut === undefined) return 'invalid';
  const atEnd = /Unexpected end of input|Unterminated template/.test(cut.message);
  const openCall =
    /^missing \)/.test(cut.message) && cut.marked.trimEnd() === cut.text.slice(cut.column).trimEnd();
  const openComment = cut.text.slice(cut.column).startsWith('/*');
  return atEnd || openCall || openComment ? 'incomplete' : 'invalid';
};

/** The line that cannot be read, and where in it; undefined where all of it can. */
exports.fault = (code, name) => {
  const failed = failure(`${code}\n}`);
  if (failed === undefined || failed.line > code.split('\n').length) return undefined;
  const shift = failed.line === 1 ? opening.length : 0;
  const under =
    ' '.repeat(Math.max(failed.column - shift, 0)) + '^'.repeat(Math.max(failed.marked.length, 1));
  return `${name}:${failed.line}\n${failed.text.slice(shift)}\n${under}`;
};

/** The statement stands where V8 stumbles over it, so one in a string or a comment is never taken for one. */
function importStatements(code) {
  for (let rest = code; ; ) {
    const failed = failure(`${rest}\n}`);
    if (failed?.message !== 'Cannot use import statement outside a module') return rest;
    const lines = rest.split('\n');
    const before = lines.slice(0, failed.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const at = before + failed.column - (failed.line === 1 ? opening.length : 0);
    importStatement.lastIndex = at;
    const found = importStatement.exec(rest);
    if (found === null) return rest;
    rest = rest.slice(0, at) + statementAsCall(found) + rest.slice(at + found[0].length);
  }
}

function statementAsCall([, single, space, names, , specifier, attributes]) {
  const options = attributes === undefined ? '' : `, { with: ${attributes} }`;
  const call = `await import(${JSON.stringify(specifier)}${options})`;
  if (space !== undefined && single === undefined) return `const ${space} = ${call}`;
  if (space !== undefined) return `const ${space} = ${call}, ${single} = ${space}.default`;
  const wanted = (names ?? '').replaceAll(/\s+as\s+/g, ': ');
  const all = [...(single === undefined ? [] : [`default: ${single}`]), wanted].filter((name) => name.trim());
  return all.length === 0 ? call : `const { ${all.join(', ')} } = ${call}`;
}

/** A place where breaking the word breaks the program is code; in a string, a comment or a regex it is not. */
function importCalls(code) {
  if (code.search(importAny) < 0 || failure(`${code}\n}`) !== undefined) return code;
  return code.replaceAll(importAny, (word, at) => {
    const broken = `${code.slice(0, at)}im port${code.slice(at + word.length)}`;
    return failure(`${broken}\n}`) === undefined ? word : exports.importName;
  });
}

function failure(code) {
  try {
    new vm.Script(opening + code, { filename: 'source' });
    return undefined;
  } catch (error) {
    const [place = '', text = '', caret = ''] = String(error.stack).split('\n');
    const line = Number(place.split(':').at(-1));
    const column = caret.search(/\^|$/);
    return { message: error.message, line, text, column, marked: text.slice(column, caret.trimEnd().length) };
  }
}
