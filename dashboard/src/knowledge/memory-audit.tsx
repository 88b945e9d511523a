import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { WireAudit } from '../../../src/contract/memory-schemas.ts';
import { client } from '../api.ts';
import { pathTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Card } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { Answer } from '../ui/query.tsx';

type FindingKind = keyof typeof text.memory.kinds;
/** The most serious first. */
const kinds = Object.keys(text.memory.kinds) as FindingKind[];

/** Reads every entry, so it runs only when a person asks. It changes nothing: each finding has a command. */
export function MemoryAudit() {
  const [isAsked, setAsked] = useState(false);
  const audit = useQuery({
    queryKey: ['memory', 'audit'],
    queryFn: ({ signal }) => client.audit({ signal }),
    enabled: isAsked,
  });
  return (
    <Card
      title={text.memory.audit}
      side={
        <button
          type="button"
          className="button"
          onClick={() => (isAsked ? void audit.refetch() : setAsked(true))}
        >
          {text.memory.runAudit}
        </button>
      }
    >
      {isAsked ? (
        <Answer of={audit}>{(found) => <Findings of={found} />}</Answer>
      ) : (
        <p className="text-faint">{text.memory.aboutAudit}</p>
      )}
    </Card>
  );
}

function Findings({ of: { findings, checked, compared } }: { readonly of: WireAudit }) {
  return (
    <div className="flex flex-col gap-4">
      <p className="text-faint" role="status">
        {findings.length === 0 ? text.memory.nothingFound : `${findings.length} ${text.memory.findings}`} (
        {checked} {text.memory.entries}, {text.memory.compared[compared]})
      </p>
      {kinds.map((kind) => {
        const found = findings.filter((finding) => finding.kind === kind);
        return found.length === 0 ? null : <Kind key={kind} kind={kind} findings={found} />;
      })}
    </div>
  );
}

function Kind({ kind, findings }: { readonly kind: FindingKind; readonly findings: WireAudit['findings'] }) {
  return (
    <section aria-label={text.memory.kinds[kind]}>
      <h3 className="font-medium">
        {text.memory.kinds[kind]} ({findings.length})
      </h3>
      <ul className="mt-2 flex flex-col gap-3">
        {findings.map(({ ids, evidence, mend }) => (
          <li key={ids.join('\n')} className="flex min-w-0 flex-col gap-1">
            <div className="flex min-w-0 flex-wrap gap-x-3">
              {ids.map((id) => (
                <a key={id} className="min-w-0 truncate" href={`#${pathTo('knowledge', 'memory', id)}`}>
                  {nameText(id)}
                </a>
              ))}
            </div>
            <p className="break-words text-faint">{nameText(evidence)}</p>
            <Command line={mend} />
          </li>
        ))}
      </ul>
    </section>
  );
}
