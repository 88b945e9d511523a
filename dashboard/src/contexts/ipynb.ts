/** Notebooks as files: the format 4.5 of Jupyter. Outputs are parsed and written again, never passed through. */
import type { ContextCell } from '../../../src/runs/contexts/cells.ts';
import type { ContextEvent } from '../../../src/runs/contexts/result.ts';

export interface NotebookFile {
  readonly language: 'python' | 'javascript';
  readonly cells: readonly string[];
}

const mostBytes = 20 * 1024 ** 2;

/** The code cells of a file. Throws an error that names the reason. */
export function parseNotebook(content: string): NotebookFile {
  if (content.length > mostBytes) throw new Error('The notebook is larger than 20 MiB.');
  const file: unknown = parsedJson(content);
  if (!isRecord(file) || !Array.isArray(file.cells)) throw new Error('The file is not a Jupyter notebook.');
  const { metadata } = file;
  const spec = isRecord(metadata) && isRecord(metadata.kernelspec) ? metadata.kernelspec : {};
  const language = String(spec.language ?? spec.name ?? 'python');
  const cells = file.cells
    .filter((cell): cell is Record<string, unknown> => isRecord(cell) && cell.cell_type === 'code')
    .map(({ source }) => (Array.isArray(source) ? source.map(String).join('') : String(source ?? '')));
  return { language: /javascript|deno|node/i.test(language) ? 'javascript' : 'python', cells };
}

export function writeNotebook(language: NotebookFile['language'], cells: readonly ContextCell[]): string {
  const name = language === 'python' ? 'python3' : 'javascript';
  const file = {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {
      kernelspec: { name, display_name: language === 'python' ? 'Python 3' : 'JavaScript', language },
      language_info: { name: language },
    },
    cells: cells.map(({ number, code, pieces }) => ({
      cell_type: 'code',
      id: `cell-${number}`,
      execution_count: number,
      metadata: {},
      source: linesOf(code),
      outputs: pieces.map((piece) => outputOf(piece, number)),
    })),
  };
  return JSON.stringify(file, null, 1);
}

function outputOf(piece: ContextEvent, number: number): unknown {
  if (piece.type === 'stdout' || piece.type === 'stderr')
    return { output_type: 'stream', name: piece.type, text: linesOf(piece.text) };
  if (piece.type === 'error') {
    const { name, message, traceback } = piece.error;
    return { output_type: 'error', ename: name, evalue: message, traceback: traceback.split('\n') };
  }
  const { kind, text, png, jpeg, svg, markdown, latex } = piece.result;
  const data = {
    'text/plain': linesOf(text),
    ...(png !== undefined && { 'image/png': base64(png) }),
    ...(jpeg !== undefined && { 'image/jpeg': base64(jpeg) }),
    ...(svg !== undefined && { 'image/svg+xml': linesOf(svg) }),
    ...(markdown !== undefined && { 'text/markdown': linesOf(markdown) }),
    ...(latex !== undefined && { 'text/latex': linesOf(latex) }),
  };
  return kind === 'value'
    ? { output_type: 'execute_result', execution_count: number, metadata: {}, data }
    : { output_type: 'display_data', metadata: {}, data };
}

/** Each line keeps its end, as the format wants. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function parsedJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new Error('The file is not a Jupyter notebook: it is not JSON.');
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
