/** Blocks that Open WebUI draws as cards of tool calls. Other clients show or hide them like any HTML element. */

interface ToolCard {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly output: string;
}

export function toolCard({ id, tool, input, output }: ToolCard): string {
  const attributes = {
    type: 'tool_calls',
    done: 'true',
    id,
    name: tool,
    arguments: JSON.stringify(input ?? {}),
    result: JSON.stringify(output),
  };
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(value)}"`);
  return `\n\n<details ${written.join(' ')}>\n<summary>Tool Executed</summary>\n</details>\n\n`;
}

/** The text without cards, in one line: clients send cards and line breaks back in forms of their own. */
export function plainText(text: string): string {
  return text
    .replace(/<details type="(?:tool_calls|reasoning)"[\s\S]*?<\/details>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
