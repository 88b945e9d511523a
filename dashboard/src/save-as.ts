/** Gives the browser a file to keep. */
export function saveAs(name: string, parts: readonly BlobPart[], type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, '_').slice(-100);
  link.click();
  URL.revokeObjectURL(url);
}
