import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { RunSummary } from '../../../src/runs/history/run-record.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, bytesText, durationText, linesText, nameText, timeText } from '../shown.ts';
import { languageText, text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Modal } from '../ui/modal.tsx';
import { Answer } from '../ui/query.tsx';
import { OutputPieces } from './output-pieces.tsx';

const pageSize = 20;

/** Earlier runs of this page, of commands and of agents. */
export function RunHistory() {
  const runs = useInfiniteQuery({
    queryKey: ['runs'],
    queryFn: ({ pageParam, signal }) =>
      client.runs.list({ limit: pageSize, ...(pageParam > 0 && { before: pageParam }), signal }),
    initialPageParam: 0,
    getNextPageParam: (page) => (page.length < pageSize ? undefined : page.at(-1)?.at),
  });
  const all = runs.data?.pages.flat() ?? [];
  return (
    <Card title={text.runs.history}>
      <Answer of={runs}>
        {() =>
          all.length === 0 ? (
            <Empty command="geode run python -c 'print(6 * 7)'">{text.runs.noHistory}</Empty>
          ) : (
            <ul>
              {all.map((run) => (
                <li key={run.id} className="border-b border-line py-1.5">
                  <a className="block text-ink no-underline" href={`#${pathTo('code', 'runs', run.id)}`}>
                    <span className="flex min-w-0 items-center gap-2">
                      <OutcomeBadge run={run} />
                      <code className="min-w-0 flex-1 truncate text-ink">
                        {nameText(run.title) || languageText(run.language)}
                      </code>
                      <span className="shrink-0 text-faint">
                        {languageText(run.language)}, {durationText(run.durationMs)}
                        <span className="hidden sm:inline">, {agoText(run.at)}</span>
                      </span>
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {runs.hasNextPage && (
        <button
          type="button"
          className="button mt-2"
          disabled={runs.isFetchingNextPage}
          onClick={() => void runs.fetchNextPage()}
        >
          {text.runs.older}
        </button>
      )}
    </Card>
  );
}

function OutcomeBadge({ run: { outcome } }: { readonly run: Pick<RunSummary, 'outcome'> }) {
  const tone = outcome === 'succeeded' ? 'good' : outcome === 'stopped' ? 'warn' : 'bad';
  return <Badge tone={tone}>{text.runs.outcomes[outcome]}</Badge>;
}

/** One run: its code, what it wrote and how it ended. */
export function PastRun({
  id,
  onAgain,
}: {
  readonly id: string;
  readonly onAgain: (code: string, language: string) => void;
}) {
  const run = useQuery({
    queryKey: ['run', id],
    queryFn: () => client.runs.get(id),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const close = () => goTo('code', 'runs');
  return (
    <Modal title={text.runs.past} onClose={close}>
      <Answer of={run}>
        {(found) => (
          <div className="flex min-w-0 flex-col gap-3">
            <p className="flex flex-wrap items-center gap-2">
              <OutcomeBadge run={found} />
              {found.signal === null
                ? found.exitCode !== null && `${text.processes.exit} ${found.exitCode}`
                : `${text.processes.signal} ${found.signal}`}
              <span className="text-faint">
                {languageText(found.language)}, {timeText(found.at)}, {durationText(found.durationMs)}
              </span>
            </p>
            <section aria-label={text.runs.code}>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard. */}
              <pre className="output" tabIndex={0}>
                {linesText(found.code)}
              </pre>
            </section>
            <section aria-label={text.runs.output}>
              {found.output.length === 0 && <p className="text-faint">{text.runs.silent}</p>}
              <OutputPieces pieces={found.output} />
              {found.droppedBytes > 0 && (
                <p className="text-faint">
                  {text.runs.dropped} {bytesText(found.droppedBytes)}
                </p>
              )}
            </section>
            <Names label={text.runs.files} names={found.artifacts} />
            <Names label={text.runs.denied} names={found.denied} />
            <p>
              <button
                type="button"
                className="button"
                onClick={() => {
                  onAgain(found.code, found.language);
                  close();
                }}
              >
                {text.runs.again}
              </button>
            </p>
          </div>
        )}
      </Answer>
    </Modal>
  );
}

function Names({ label, names }: { readonly label: string; readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p className="break-words">
      {label}: {names.map(nameText).join(', ')}
    </p>
  );
}
