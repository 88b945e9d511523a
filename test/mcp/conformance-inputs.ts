/** Tools and a prompt that ask for more before they answer, as the conformance suite's scenarios for 2026-07-28 want them. */
import {
  type CallToolResult,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const states = createRequestStateCodec<{ readonly round: number }>({ key: 'k'.repeat(32) });

/** The server needs it to refuse a state that somebody has changed. */
export const inputOptions: ServerOptions = { requestState: { verify: states.verify } };

type Answer = CallToolResult | InputRequiredResult;
type Handler = (context: ServerContext) => Promise<Answer>;

const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const form = (message: string, field: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  });
const sampling = (text: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 100,
  });
const questions = {
  user_name: form('What is your name?', 'name'),
  greeting: sampling('Generate a greeting'),
  client_roots: inputRequired.listRoots(),
};
const stateful = async (inputRequests: InputRequests, round: number) =>
  inputRequired({ inputRequests, requestState: await states.mint({ round }) });

export function addInputTools(server: McpServer): void {
  for (const [name, handler] of Object.entries(handlers))
    server.registerTool(name, { description: 'Asks for more before it answers' }, handler);
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks first' },
    async (context) => {
      const { inputResponses } = context.mcpReq;
      if (inputResponses?.user_context === undefined)
        return inputRequired({
          inputRequests: { user_context: form('What context should the prompt use?', 'context') },
        });
      return {
        messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(inputResponses) } }],
      };
    },
  );
}

/** One question, then what was answered. */
const once =
  (requests: InputRequests): Handler =>
  async ({ mcpReq: { inputResponses = {} } }) =>
    Object.keys(requests).every((key) => key in inputResponses)
      ? say(`Hello, ${JSON.stringify(inputResponses)}!`)
      : inputRequired({ inputRequests: requests });

/** The same with a state that comes back with the answers. */
const onceWithState =
  (requests: InputRequests): Handler =>
  async ({ mcpReq: { inputResponses = {}, requestState } }) =>
    requestState<{ round: number }>()?.round === 1 &&
    Object.keys(requests).every((key) => key in inputResponses)
      ? say('state-ok')
      : stateful(requests, 1);

const confirm = {
  confirm: inputRequired.elicit({
    message: 'Please confirm',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  }),
};

const handlers: Readonly<Record<string, Handler>> = {
  test_input_required_result_elicitation: once({ user_name: questions.user_name }),
  test_input_required_result_sampling: once({ capital_question: sampling('What is the capital of France?') }),
  test_input_required_result_list_roots: once({ client_roots: questions.client_roots }),
  test_input_required_result_request_state: onceWithState(confirm),
  test_input_required_result_tampered_state: onceWithState(confirm),
  test_input_required_result_multiple_inputs: onceWithState(questions),
  async test_input_required_result_multi_round({ mcpReq: { requestState } }) {
    const round = requestState<{ round: number }>()?.round ?? 0;
    if (round === 0) return stateful({ step1: form('Step 1: What is your name?', 'name') }, 1);
    if (round === 1) return stateful({ step2: form('Step 2: What is your favorite color?', 'color') }, 2);
    return say('done');
  },
  async test_input_required_result_capabilities({ mcpReq }) {
    const can = capabilitiesOf(mcpReq.envelope);
    return inputRequired({
      inputRequests: {
        ...('sampling' in can && { greeting: questions.greeting }),
        ...('elicitation' in can && { user_name: questions.user_name }),
      },
    });
  },
  /** The server itself refuses to ask a client for what it cannot do. */
  test_missing_capability: once({ greeting: questions.greeting }),
  test_streaming_elicitation: once({ user_name: questions.user_name }),
  async test_logging_tool({ mcpReq }) {
    await mcpReq.log('info', 'Only those who want logs get this');
    return say('logged');
  },
};

function capabilitiesOf(envelope: unknown): Readonly<Record<string, unknown>> {
  const schema = z.object({
    'io.modelcontextprotocol/clientCapabilities': z.record(z.string(), z.unknown()),
  });
  return schema.safeParse(envelope).data?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
}
