/** The smallest PDF that shows a line of text on each page. */
export function pdfOf(...lines: string[]): Uint8Array<ArrayBuffer> {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  const pages = lines.map((line) => {
    const stream = `BT /F1 24 Tf 72 700 Td (${line.replaceAll(/[\\()]/g, '\\$&')}) Tj ET`;
    objects.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${objects.length} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    return `${objects.length} 0 R`;
  });
  objects[1] = `<< /Type /Pages /Kids [${pages.join(' ')}] /Count ${pages.length} >>`;
  return assembled(objects);
}

/** A PDF of one page whose content is the given bytes, with these words in the dictionary of its stream. */
export function bombPdf(content: Uint8Array, dictionary: string): Uint8Array<ArrayBuffer> {
  const stream = Buffer.from(content).toString('latin1');
  return assembled([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    `<< /Length ${stream.length} ${dictionary} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R /Resources << >> >>',
  ]);
}

function assembled(objects: readonly string[]): Uint8Array<ArrayBuffer> {
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  text += `${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return new Uint8Array(Buffer.from(text, 'latin1'));
}
