/** The title and the icon of the browser's tab: where one is, and how many questions wait. */
import { useEffect } from 'react';

let place = '';
let count = 0;

export function useTitle(name: string): void {
  useEffect(() => {
    place = name;
    show();
  }, [name]);
}

export function showCount(open: number): void {
  if (open === count) return;
  count = open;
  show();
  document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.setAttribute('href', iconOf(count));
}

function show(): void {
  const prefix = count > 0 ? `(${count}) ` : '';
  document.title = `${prefix}${place === '' ? '' : `${place} · `}Geode`;
}

function iconOf(open: number): string {
  const dot = open > 0 ? '<circle cx="25" cy="7" r="7" fill="#b92229"/>' : '';
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 3 27 9.5v13L16 29 5 22.5v-13z" fill="none" stroke="#7561d4" stroke-width="3"/><path d="m16 11 4.3 2.5v5L16 21l-4.3-2.5v-5z" fill="#7561d4"/>${dot}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}
