import { useQuery } from '@tanstack/react-query';
import { HardDrive } from 'lucide-react';
import { client } from '../api.ts';
import { bytesText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** Images that this host stores itself. */
export function Images() {
  const images = useQuery({
    queryKey: ['image-store'],
    queryFn: () => client.images.store.list(),
    retry: false,
  });
  return (
    <Card title={text.settings.parts.images} isFlush>
      <Answer of={images}>
        {(all) =>
          all.length === 0 ? (
            <EmptyPlace
              icon={HardDrive}
              title={text.settings.noImages}
              command="geode image pull python:3.12-slim"
            >
              {text.settings.noImagesHow}
            </EmptyPlace>
          ) : (
            <ul>
              {all.map(({ id, names, sizeBytes, pulledAt, inUse }) => (
                <li
                  key={id}
                  className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-b-0"
                >
                  <div className="min-w-0 flex-1">
                    <p className="break-all">{names.map(nameText).join(', ')}</p>
                    <p className="text-sm text-faint">
                      {bytesText(sizeBytes)}, {timeText(pulledAt)}
                      {inUse && `, ${text.settings.imageInUse}`}
                    </p>
                  </div>
                  {names[0] !== undefined && !inUse && (
                    <ActionButton
                      kind="button-bad"
                      ask={text.settings.removeImage}
                      act={() => client.images.store.remove({ name: names[0] ?? '' })}
                    >
                      {text.actions.remove}
                    </ActionButton>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
