/** Quotes text for a prompt so that it cannot end its own quotation. */
export function quote(text: string): string {
  return `<data>\n${text.replaceAll('</data>', '<\\/data>')}\n</data>`;
}
