/** The lines of an engine stream, each a JSON text. */
export async function* linesOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    if (!(chunk instanceof Uint8Array)) continue;
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
