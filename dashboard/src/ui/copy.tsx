import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { text } from '../text.ts';

const shownMs = 1500;

export function CopyButton({ value }: { readonly value: string }) {
  const [isCopied, setCopied] = useState(false);
  const Icon = isCopied ? Check : Copy;
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={isCopied ? text.actions.copied : text.actions.copy}
      onClick={() => {
        void navigator.clipboard?.writeText(value).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), shownMs);
        });
      }}
    >
      <Icon aria-hidden size={14} strokeWidth={1.75} />
    </button>
  );
}
