import { z } from 'zod';
import { positive, size } from './setting-types.ts';

export const chatSettings = z
  .strictObject({
    concurrency: positive.int().default(4).describe('maximum agent turns in chats at once'),
    per_user: positive.int().default(2).describe('maximum agent turns of one user at once'),
    postgres: z
      .url({ protocol: /^postgres(ql)?$/ })
      .optional()
      .describe(
        'PostgreSQL for several gateways that share messages: postgres://USER:PASSWORD@HOST/DATABASE',
      ),
    during_turn: z
      .enum(['follow', 'steer'])
      .default('follow')
      .describe('a message that arrives during a turn waits for its end, or is added to it'),
    messages_per_minute: positive.default(30).describe('maximum messages per minute of one sender'),
    pairing_minutes: positive.default(30).describe('minutes that a pairing code is valid'),
    time_zone: z.string().default('UTC').describe('default time zone of schedules: "Europe/Berlin"'),
    file_size: size.default(20 * 1024 ** 2).describe('largest file to receive or send: "20m"'),
  })
  .prefault({});
