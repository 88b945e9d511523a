import { styleText } from 'node:util';
import { type Audit, type Finding, findingKinds } from '../../seams/memory.ts';
import { printable } from './printable.ts';

const titles: Readonly<Record<Finding['kind'], string>> = {
  secret: 'Secrets',
  contradiction: 'Contradictions',
  duplicate: 'Duplicates',
  stale: 'Stale',
  'never-recalled': 'Never found by a search',
};

export function renderAudit({ findings, checked, compared }: Audit): string {
  const parts = findingKinds.flatMap((kind) => {
    const found = findings.filter((finding) => finding.kind === kind);
    return found.length === 0 ? [] : [[heading(kind, found.length), ...found.map(lines)].join('\n')];
  });
  const count = `${checked} ${checked === 1 ? 'entry' : 'entries'} checked, compared by ${compared}`;
  return [
    ...parts,
    findings.length === 0 ? `Nothing found. ${count}.` : `${count}. Nothing was changed.`,
  ].join('\n\n');
}

function heading(kind: Finding['kind'], count: number): string {
  return styleText('bold', `${titles[kind]} (${count})`);
}

function lines({ keys, evidence, mend }: Finding): string {
  const [key = ''] = keys;
  return `  ${printable(key)}\n    ${printable(evidence)}\n    ${styleText('dim', printable(mend))}`;
}
