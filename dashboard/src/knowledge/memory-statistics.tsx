import { useQuery } from '@tanstack/react-query';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { bytesText } from '../shown.ts';
import { text } from '../text.ts';
import { Card } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** The number of entries, of each category and in all; the store's figures only for the operator of the host. */
export function MemoryStatistics() {
  const categories = useQuery({ queryKey: ['memory', 'categories'], queryFn: () => client.categories() });
  const stats = useQuery({ queryKey: ['memory', 'stats'], queryFn: () => client.stats() });
  return (
    <Card title={text.memory.statistics}>
      <Answer of={categories}>
        {({ categories: all }) => <p>{all.map(({ name, count }) => `${name}: ${count}`).join(', ')}</p>}
      </Answer>
      {!isGeodeError(stats.error, 'forbidden') && (
        <Answer of={stats}>
          {({ store, entries, versions, vectors, bytes_on_disk, model, dimensions }) => (
            <p className="mt-1 break-words text-faint">
              {store}: {entries} {text.memory.entries}, {versions} {text.memory.older}, {vectors}{' '}
              {text.memory.vectors} ({model}, {dimensions}), {bytesText(bytes_on_disk)}
            </p>
          )}
        </Answer>
      )}
    </Card>
  );
}
