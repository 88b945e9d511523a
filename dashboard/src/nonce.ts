/** Styles that libraries add to the page need the nonce that the host gave with it. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** The library that keeps the page from scrolling behind a dialog looks for it here. */
export function shareNonce(): void {
  Object.assign(globalThis, { __webpack_nonce__: nonce });
}

/** The terminal makes its styles while it opens and knows no nonce. */
export function withNonce(open: () => void): void {
  const make = document.createElement.bind(document);
  const marked = (name: string, options?: ElementCreationOptions) => {
    const element = make(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  Object.assign(document, { createElement: marked });
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}
