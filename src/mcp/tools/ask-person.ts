import { z } from 'zod';
import { isAllowed } from '../../seams/approval.ts';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const input = z.strictObject({
  question: z.string().min(1).max(300).describe('One line that a person understands without the chat.'),
  detail: z.string().max(50_000).optional().describe('Everything needed to answer it.'),
  answers: z
    .array(z.string().min(1).max(200))
    .max(20)
    .optional()
    .describe('Answers to choose from; the person may write another one.'),
});

export const askPersonTool = defineTool<typeof input, SessionCall>({
  name: 'ask_person',
  title: 'Ask a person',
  description:
    'Asks the user a question and waits for the answer: yes, no, or text. No answer in time counts as no.',
  effect: 'reads',
  waitsFor: 'person',
  input,
  async run({ question, detail, answers }, { approvals, session, signal, waitMs }) {
    const { user, chat, sandboxId } = session;
    const approval = await approvals.ask(
      {
        user,
        chat,
        sandbox: sandboxId,
        kind: 'question',
        title: question,
        choices: ['allow-once', 'deny'],
        // The same question after a lost host gets the answer that was given in between.
        key: JSON.stringify([question, detail ?? '', answers ?? []]),
        waitMs,
        ...(detail !== undefined && { detail }),
        ...(answers !== undefined && { answers }),
      },
      { signal },
    );
    const { state, answer } = approval;
    return { answered: state === 'decided', yes: isAllowed(approval), answer };
  },
});
