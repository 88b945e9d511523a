/** Recorded turns of agents and their replays, in wire format. */
import { z } from 'zod';
import { driverName } from '../config/driver-name.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { chatParams, chatSchema } from './sandboxes.ts';

const usageSchema = z.object({ input_tokens: z.int(), cached_tokens: z.int(), output_tokens: z.int() });
const outcomeSchema = z
  .enum(['done', 'interrupted', 'limit', 'error', 'recording-end'])
  .describe('`recording-end`: the recording of an interrupted or failed turn ends before an answer.');
const costSchema = z.number().nullable().describe('US dollars; null where a price is not known.');

const recordedTurnSchema = z
  .object({
    turn: z.string(),
    driver: driverName,
    message: z.string(),
    outcome: outcomeSchema,
    started_at: z.number(),
    ended_at: z.number(),
    cost: costSchema,
    problem: z.string().nullable().describe('Why it cannot be played again; null if it can.'),
  })
  .meta({ id: 'RecordedTurn' });

const replayBody = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Another model, which answers in place of the recording.'),
    keep: z.boolean().optional().describe('true: the copy of the sandbox stays, as a chat of its own.'),
  })
  .meta({ id: 'Replay' });

const differenceShape = {
  step: z.int().nullable().describe('The number of the tool call, from 1; null after the last one.'),
  kind: z.enum(['call', 'result', 'answer', 'files']),
  what: z.string().describe('The tool or the file.'),
  recorded: z.string(),
  replayed: z.string(),
};
const replayOutcomeSchema = z
  .object({
    outcome: outcomeSchema,
    text: z.string(),
    calls: z.int(),
    failed_calls: z.int(),
    usage: usageSchema,
    cost: costSchema,
    duration_ms: z.number(),
  })
  .meta({ id: 'ReplayOutcome' });
const replayedFileSchema = z
  .object({
    path: z.string(),
    same: z.boolean().nullable().describe('null: large or not text, so its content was not compared.'),
    recorded: z.string().nullable().describe('A unified diff against the file before the turn.'),
    replayed: z.string().nullable(),
  })
  .meta({ id: 'ReplayedFile' });

const replayEventSchema = z
  .union([
    z.object({
      type: z.literal('replay-start'),
      turn: z.string(),
      driver: driverName,
      message: z.string(),
      started_at: z.number(),
      model: z.string().nullable().describe('null: the recorded answers.'),
      copy: z.string().describe('The chat of the copy.'),
      from: z.literal('files'),
    }),
    z.object({
      type: z.literal('replay-call'),
      step: z.int(),
      tool: z.string(),
      input: z.unknown(),
      result: z
        .enum(['same', 'different', 'served'])
        .describe(
          '`served`: not compared, because the tool works outside of the sandbox; the built-in agent gets the recorded result.',
        ),
    }),
    z.object({ type: z.literal('replay-difference'), ...differenceShape }),
    z.object({
      type: z.literal('replay-end'),
      verdict: z
        .enum(['same', 'different', 'better', 'worse'])
        .describe('`better`: only the replay finished; `worse`: only the recorded turn did.'),
      first: z.object(differenceShape).nullable(),
      differences: z.int(),
      recorded: replayOutcomeSchema,
      replayed: replayOutcomeSchema,
      files: z.array(replayedFileSchema),
      notes: z.array(z.string()).describe('What was not recorded, served or compared.'),
      kept: z.string().nullable().describe('The chat of the copy, if it stays.'),
    }),
    problemEvent,
  ])
  .meta({ id: 'ReplayEvent' });

const turnParams = z.object({
  chat: chatSchema,
  turn: z.string().min(1).max(100).describe('The id of a turn, the beginning of its id, or `last`.'),
});

export const turns = family({
  list: {
    route: 'GET /api/v1/agents/{chat}/turns',
    tag: 'agents',
    scope: 'agents',
    summary: 'List the recorded turns of a chat, newest first',
    params: chatParams,
    answer: {
      description: 'At most 200 turns.',
      schema: z.object({ turns: z.array(recordedTurnSchema) }),
      field: 'turns',
    },
    reaches: 'sandbox',
  },
  replay: {
    route: 'POST /api/v1/agents/{chat}/turns/{turn}/replay',
    tag: 'agents',
    scope: 'agents',
    summary: 'Play a recorded turn again in a sealed copy of its sandbox',
    description:
      'The copy has the files as they were before the turn, and no network. Without a model the recorded answers are served and the commands run again. The replay ends when the caller leaves.',
    params: turnParams,
    body: { description: 'How to play it.', schema: replayBody },
    stream: { description: 'Its last event is `replay-end`.', schema: replayEventSchema },
    reaches: 'sandbox',
    refuses: { 402: 'The budget for models is spent.' },
  },
});
