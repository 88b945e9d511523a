/** The data of each server-sent event, parsed from JSON. Leaving the loop ends the request. */
export async function* readEvents(response: Response): AsyncGenerator<unknown> {
  if (!response.body) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) yield JSON.parse(dataOf(event));
  }
}

function dataOf(event: string): string {
  const lines = event.split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => line.slice('data: '.length)).join('\n');
}
