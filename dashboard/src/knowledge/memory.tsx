import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useDeferredValue, useState } from 'react';
import type { WireEntry, WireResult } from '../../../src/contract/memory-schemas.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Choice, TextArea, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { MemoryAudit } from './memory-audit.tsx';
import { MemoryEntry } from './memory-entry.tsx';
import { MemoryStatistics } from './memory-statistics.tsx';

const pageSize = 20;

export function Memory({ id }: { readonly id: string | undefined }) {
  const [words, setWords] = useState('');
  const [category, setCategory] = useState<string>(text.memory.all);
  const searched = useDeferredValue(words.trim());
  const categories = useQuery({ queryKey: ['memory', 'categories'], queryFn: () => client.categories() });
  const filter = category === text.memory.all ? {} : { category };
  const names = (categories.data?.categories ?? []).map(({ name }) => name);
  return (
    <>
      {id !== undefined && <MemoryEntry key={id} id={id} />}
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 flex-1">
          <TextField
            label={text.memory.searchLabel}
            type="search"
            value={words}
            onChange={({ target }) => setWords(target.value)}
          />
        </div>
        <Choice
          label={text.memory.category}
          options={[text.memory.all, ...names]}
          value={category}
          onChange={({ target }) => setCategory(target.value)}
        />
        <span className="text-faint">
          {categories.data?.total ?? 0} {text.memory.entries}
        </span>
      </div>
      {searched === '' ? <Newest filter={filter} /> : <Found words={searched} filter={filter} />}
      {names.length > 0 && <Add categories={names} />}
      <MemoryAudit />
      <MemoryStatistics />
    </>
  );
}

interface Filter {
  readonly category?: string;
}

function Newest({ filter }: { readonly filter: Filter }) {
  const page = useQuery({
    queryKey: ['memory', 'list', filter],
    queryFn: () => client.list({ ...filter, limit: pageSize }),
  });
  return (
    <Answer of={page}>
      {({ entries }) =>
        entries.length === 0 ? (
          <Empty command='geode memory add "Deploys run from the release branch"'>{text.memory.empty}</Empty>
        ) : (
          <Entries entries={entries} />
        )
      }
    </Answer>
  );
}

function Found({ words, filter }: { readonly words: string; readonly filter: Filter }) {
  const answer = useQuery({
    queryKey: ['memory', 'search', words, filter],
    queryFn: ({ signal }) => client.search(words, { ...filter, limit: pageSize, signal }),
    placeholderData: (before) => before,
  });
  return (
    <Answer of={answer}>
      {({ results, degraded }) => (
        <>
          {degraded.length > 0 && (
            <p className="text-warn">
              {text.memory.degraded} {degraded.join(', ')}
            </p>
          )}
          {results.length === 0 ? <Empty>{text.memory.noResults}</Empty> : <Entries entries={results} />}
        </>
      )}
    </Answer>
  );
}

function Entries({ entries }: { readonly entries: readonly (WireEntry | WireResult)[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {entries.map((entry) => (
        <li key={entry.id} className="card min-w-0">
          <div className="flex min-w-0 flex-wrap items-center gap-2">
            <a className="min-w-0 truncate font-medium" href={`#${pathTo('knowledge', 'memory', entry.id)}`}>
              {nameText(entry.id)}
            </a>
            <Badge>{entry.category}</Badge>
            {entry.stale !== null && <Badge tone="warn">{text.memory.stale}</Badge>}
            <span className="text-faint">{agoText(Date.parse(entry.updated_at))}</span>
          </div>
          <p className="mt-1 line-clamp-3 break-words">{nameText(entry.content.slice(0, 500))}</p>
          {'why' in entry && (
            <p className="mt-1 break-words text-faint">
              {text.memory.why}: {nameText(entry.why.summary)} ({entry.score.toFixed(2)})
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function Add({ categories }: { readonly categories: readonly string[] }) {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={text.memory.add}>
        <ActionForm
          submit={text.memory.add}
          act={async ({ id = '', content = '', category = 'project', source = '', tags = '' }) => {
            const stored = await client.ingest({
              ...(id !== '' && { id }),
              content,
              category,
              source,
              tags: tags
                .split(',')
                .map((tag) => tag.trim())
                .filter(Boolean),
            });
            goTo('knowledge', 'memory', stored.id);
          }}
        >
          <TextField label={text.memory.id} name="id" />
          <TextArea label={text.memory.content} name="content" required />
          <Choice label={text.memory.category} name="category" options={categories} defaultValue="project" />
          <TextField label={text.memory.source} name="source" required defaultValue="dashboard" />
          <TextField label={text.memory.tags} name="tags" />
        </ActionForm>
      </Card>
      <Import categories={categories} />
    </div>
  );
}

function Import({ categories }: { readonly categories: readonly string[] }) {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [category, setCategory] = useState('project');
  const queries = useQueryClient();
  const load = useMutation({
    mutationFn: (given: readonly File[]) => client.files(given, { category }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['memory'] }),
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    load.mutate([...event.dataTransfer.files]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the form is the first.
    <div onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <Card title={text.memory.import}>
        <p className="mb-2 text-faint">{text.memory.drop}</p>
        <ActionForm submit={text.memory.import} act={() => load.mutateAsync(files)}>
          <TextField
            label={text.memory.import}
            type="file"
            multiple
            required
            onChange={({ target }) => setFiles([...(target.files ?? [])])}
          />
          <Choice
            label={text.memory.category}
            options={categories}
            value={category}
            onChange={({ target }) => setCategory(target.value)}
          />
        </ActionForm>
        <div role="status">
          {load.data !== undefined && (
            <p className="break-words">
              {text.memory.imported} {load.data.map(({ id }) => nameText(id)).join(', ')}
            </p>
          )}
        </div>
        {load.error && <Problem error={load.error} />}
      </Card>
    </div>
  );
}
