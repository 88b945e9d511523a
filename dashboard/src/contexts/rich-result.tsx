import { type ReactNode, useEffect, useState } from 'react';
import type { Rich } from '../../../src/runs/contexts/rich.ts';
import { Markdown } from '../markdown.tsx';
import { nameText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import { Scrolled } from '../ui/scrolled.tsx';

/** A value in the richest form that cannot run anything: pictures, tables, Markdown, else its text. */
export function RichResult({ rich }: { readonly rich: Rich }) {
  return (
    <>
      {formOf(rich)}
      {rich.omitted.length > 0 && (
        <p className="text-faint">
          {text.contexts.omitted} {rich.omitted.map(nameText).join(', ')}
        </p>
      )}
    </>
  );
}

function formOf(rich: Rich): ReactNode {
  const { png, jpeg, svg, table, markdown } = rich;
  if (png !== undefined) return <Drawn content={new Uint8Array(png)} type="image/png" name={rich.text} />;
  if (jpeg !== undefined) return <Drawn content={new Uint8Array(jpeg)} type="image/jpeg" name={rich.text} />;
  if (svg !== undefined) return <Drawn content={svg} type="image/svg+xml" name={rich.text} />;
  if (table !== undefined) return <Table table={table} />;
  if (markdown !== undefined) return <Markdown source={markdown} />;
  return <pre className="output">{plainText(rich.latex ?? rich.text)}</pre>;
}

/** A picture out of a sandbox. In an image element it runs no script and fetches nothing. */
export function Drawn({
  content,
  type,
  name,
}: {
  readonly content: BlobPart;
  readonly type: string;
  readonly name: string;
}) {
  const [url, setUrl] = useState<string>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the bytes of one result never change.
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([content], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [type, name]);
  return url === undefined ? null : (
    <img src={url} alt={nameText(name)} className="max-h-[60vh] max-w-full self-start rounded-md bg-white" />
  );
}

function Table({ table: { columns, rows, totalRows } }: { readonly table: NonNullable<Rich['table']> }) {
  return (
    <Scrolled className="scroll max-h-96 overflow-auto" label={text.contexts.table}>
      <table className="list">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column}>{nameText(column)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of one result do not move.
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={columns[column]}>{nameText(String(cell))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {totalRows > rows.length && (
        <p className="text-faint">
          {rows.length} / {totalRows} {text.contexts.rows}
        </p>
      )}
    </Scrolled>
  );
}
