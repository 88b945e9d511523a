import { quoted } from '../field.ts';
import { type Frame, refuse } from '../frame.ts';
import { resolvePath } from '../paths.ts';
import { accountFile, isDevice, keyFile } from '../places.ts';
import { checkOrigin } from '../rules/origin.ts';
import { withoutUnknown } from '../unknowns.ts';
import { attempt } from './attempt.ts';
import { between, type Literal, readLiterals } from './literals.ts';
import { checkShapes } from './shapes.ts';

/**
 * Looks at code of another language, modestly: the shapes of reverse shells and downloads that are executed,
 * the commands it hands to a shell as literal strings, and the files it names.
 */
export function inspectCode(code: string, language: string, frame: Frame): void {
  frame.inspection.budget.read(code, frame.at);
  if (withoutUnknown(code).trim() === '') checkOrigin(code, frame);
  checkShapes(code, frame);
  const literals = readLiterals(code, quotesOf(language));
  literals.forEach((literal, index) => {
    const before = between(code, literals[index - 1], literal);
    const after = code.slice(literal.end, literal.end + 20);
    if (runsCommand(before, after, literal, language)) runLiteral(literals, index, code, frame);
    else if (removing.test(before))
      attempt(() => frame.shell.invoke(['rm', '-rf', literal.value].map(quoted), frame));
    else if (!onlyShown.test(before)) checkPath(literal, code, frame);
  });
}

function quotesOf(language: string): string {
  return language === 'awk' ? '"' : `'"\``;
}

const running =
  /(?:\b(?:system|popen\d?|getoutput|getstatusoutput|check_output|check_call|call|run|Popen|exec\w*|spawn\w*|shell_exec|passthru|proc_open|execute|shell|pcntl_exec|Command|do shell script)|\bqx|%x)\s*\(?\s*[[(]?\s*$/;
const removing =
  /\b(?:rmtree|rm|rmSync|rmdirSync|rm_rf|rm_r|rm_f|remove_entry\w*|remove_tree|removeSync|rimraf|unlink\w*|removedirs)\s*\(?\s*\[?\s*$/;
const onlyShown =
  /(?:\b(?:print|println|printf|log|warn|error|info|debug|puts|echo|say|write|sub|gsub|replace\w*|match|search|test|startswith|endswith|startsWith|endsWith|includes|indexOf|count|split)|[=!]=)\s*\(?\s*(?:[bfru]{1,2})?$/;

function runsCommand(before: string, after: string, literal: Literal, language: string): boolean {
  if (language === 'awk' && (/\|&?\s*$/.test(before) || /^\s*\|&?\s*getline/.test(after))) return true;
  const isCommandQuote = literal.quote === '`' && /^(?:perl|ruby|php)$/.test(language);
  return isCommandQuote || running.test(before);
}

/** One string is a command line; several in a row are a program and its arguments. */
function runLiteral(literals: readonly Literal[], index: number, code: string, frame: Frame): void {
  const words: string[] = [];
  for (let at = index; at < literals.length; at++) {
    const literal = literals[at];
    if (literal === undefined) break;
    if (at > index && !/^\s*,\s*(?:\{\s*args\s*:\s*)?\[?\s*$/.test(between(code, literals[at - 1], literal)))
      break;
    words.push(literal.value);
  }
  const scope = frame.scope.fork();
  const inner = { ...frame, scope, dialect: 'sh' as const };
  if (words.length > 1) attempt(() => frame.shell.invoke(words.map(quoted), inner));
  attempt(() => frame.shell.runText(words[0] ?? '', inner));
}

function checkPath(literal: Literal, code: string, frame: Frame): void {
  const { policy } = frame.inspection;
  const { value } = literal;
  // `process.env.HOME + '/.ssh/id_rsa'`, `Path.home() / '.ssh/id_rsa'`
  const isOfHome = /^~?\/\./.test(value) || (/^\.\w/.test(value) && /home/i.test(code));
  const spelled = isOfHome ? `${policy.home}/${value.replace(/^~?\/?/, '')}` : value;
  if (!spelled.startsWith('/') && !/^[\w.-]*geode\.json$/.test(spelled)) return;
  const path = resolvePath(quoted(spelled), frame);
  const key = keyFile(path, policy);
  if (key !== undefined) refuse(frame, 'key-files', `The code opens ${key}, which holds secrets.`);
  if (!/\bw|write|r\+|\ba\b/.test(code)) return;
  if (isDevice(path)) refuse(frame, 'device', `The code writes to the device ${value}.`);
  if (
    accountFile(path) !== undefined &&
    /open\s*\(\s*$/.test(code.slice(0, literal.start)) &&
    /^\s*,\s*['"][wa]/.test(code.slice(literal.end))
  ) {
    refuse(frame, 'destroy', `The code overwrites ${value}.`);
  }
}
