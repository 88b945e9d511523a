import { type ComponentProps, type ReactNode, useId } from 'react';

/** A control with its label. */
function Field({
  label,
  children,
}: {
  readonly label: string;
  readonly children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-muted">
        {label}
      </label>
      {children(id)}
    </div>
  );
}

export function TextField({ label, ...input }: { readonly label: string } & ComponentProps<'input'>) {
  return <Field label={label}>{(id) => <input id={id} className="input w-full" {...input} />}</Field>;
}

export function TextArea({ label, ...input }: { readonly label: string } & ComponentProps<'textarea'>) {
  return (
    <Field label={label}>
      {(id) => <textarea id={id} rows={4} className="input w-full font-mono text-code" {...input} />}
    </Field>
  );
}

export function Choice({
  label,
  options,
  ...select
}: { readonly label: string; readonly options: readonly string[] } & ComponentProps<'select'>) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} className="input" {...select}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
