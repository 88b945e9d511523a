import { type Chapter, Ledger } from '../../ledger/ledger.ts';

/** The last message received at each place of a channel, so that a restarted host can fetch the ones it missed. */
export interface ChannelMarks extends Disposable {
  /** The most recent places with the platform's id of their last message. */
  latest(most: number): readonly { readonly place: string; readonly mark: string }[];
  set(place: string, mark: string): void;
}

export const channelMarkChapter: Chapter = {
  name: 'channel-marks',
  changes: [
    `CREATE TABLE channel_marks (
      channel TEXT NOT NULL,
      place TEXT NOT NULL,
      mark TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (channel, place)
    ) STRICT`,
  ],
};

/** Ownership passes to the channel, which disposes of it. */
export function openChannelMarks(file: string, channel: string): ChannelMarks {
  const ledger = new Ledger(file, [channelMarkChapter]);
  return {
    latest: (most) =>
      ledger
        .read(
          (sql) => sql.all`SELECT place, mark FROM channel_marks WHERE channel = ${channel}
            ORDER BY at DESC LIMIT ${most}`,
        )
        .map(({ place, mark }) => ({ place: String(place), mark: String(mark) })),
    set(place, mark) {
      ledger.write(
        (sql) => sql.run`INSERT INTO channel_marks VALUES (${channel}, ${place}, ${mark}, ${Date.now()})
          ON CONFLICT (channel, place) DO UPDATE SET mark = excluded.mark, at = excluded.at`,
      );
    },
    [Symbol.dispose]: () => ledger[Symbol.dispose](),
  };
}
