/** HumanEval with the run that the authors of Reflexion recorded, and the same problems in other forms. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const recorded = z.object({
  task_id: z.string(),
  prompt: z.string(),
  entry_point: z.string(),
  test: z.string(),
  solution: z.string(),
  is_solved: z.boolean(),
  reflections: z.array(z.string()),
});

/** A problem, and what the scripted model says to it. */
export interface Task {
  readonly name: string;
  readonly problem: string;
  readonly tests: string;
  /** By the number of the attempt, from 1 on, and by what the prompt holds. */
  readonly answer: (attempt: number, prompt: string) => Try;
}

/** A task whose tries were recorded, the last one with what came of it. */
export interface RecordedTask extends Task {
  readonly tries: readonly Try[];
  readonly solved: boolean;
}

export interface Try {
  readonly code: string;
  /** Said about this try when it failed. */
  readonly reflection: string;
}

export function loadRecordedRun(folder: string): readonly RecordedTask[] {
  const file = join(folder, 'reflexion_humaneval_py_pass_at_1.jsonl');
  if (!existsSync(file)) {
    throw new Error(
      `The recorded run is not in ${folder}. Get reflexion_humaneval_py_pass_at_1.jsonl from https://github.com/noahshinn/reflexion and put it there.`,
    );
  }
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => taskOf(recorded.parse(JSON.parse(line))));
}

function taskOf({
  task_id,
  prompt,
  entry_point,
  test,
  solution,
  is_solved,
  reflections,
}: z.infer<typeof recorded>): RecordedTask {
  const failed = reflections.map((reflection, i) => ({
    code: standIn(prompt, entry_point, reflection, i),
    reflection,
  }));
  return replaying({
    name: task_id,
    problem: `Write the Python function ${entry_point}.\n\n${prompt.trim()}`,
    tests: `${test}\ncheck(${entry_point})\n`,
    tries: [...failed, { code: `${prompt}${solution}\n`, reflection: noIdea }],
    solved: is_solved,
  });
}

const noIdea = 'No idea is left.';

/** Says what was recorded, whatever the prompt holds; the last try again and again. */
function replaying(task: Omit<RecordedTask, 'answer'>): RecordedTask {
  const { tries } = task;
  return {
    ...task,
    answer: (attempt) => tries[Math.min(attempt, tries.length) - 1] ?? { code: '', reflection: noIdea },
  };
}

/**
 * The recording keeps what was said about a failed try and not the try itself. This one fails in the same function, and
 * differs from the others as the remarks about them do.
 */
function standIn(prompt: string, entryPoint: string, reflection: string, number: number): string {
  const remark = reflection.replaceAll(/[^\w ]+/g, ' ').slice(0, 400);
  return `${prompt}    note_${number} = "${remark}"\n    raise ValueError("${entryPoint} is not right yet: " + note_${number})\n`;
}

const otherWords: readonly (readonly [RegExp, string])[] = [
  [/\breturns?\b/gi, 'give back'],
  [/\bgiven\b/gi, 'provided'],
  [/\blists?\b/gi, 'sequence'],
  [/\barrays?\b/gi, 'sequence'],
  [/\bstrings?\b/gi, 'text'],
  [/\bintegers?\b/gi, 'whole number'],
  [/\bnumbers?\b/gi, 'value'],
  [/\bfunction\b/gi, 'routine'],
  [/\bcheck\b/gi, 'find out'],
  [/\bcount\b/gi, 'tally'],
  [/\blargest\b/gi, 'greatest'],
  [/\bsmallest\b/gi, 'least'],
  [/\belements?\b/gi, 'items'],
  [/\bwords?\b/gi, 'terms'],
  [/\btakes?\b/gi, 'is handed'],
  [/\bsum\b/gi, 'total'],
  [/\bcontains?\b/gi, 'holds'],
];

/** The same problem as another person would put it: no signature, no examples, other words, sentences in another order. */
export function reworded(task: RecordedTask): RecordedTask {
  const name = /function (\w+)/.exec(task.problem)?.[1] ?? '';
  const from = task.problem.lastIndexOf(`def ${name}`);
  const [, , text = ''] = /("""|''')(.*?)\1/s.exec(task.problem.slice(from)) ?? [];
  const plain = (text.split(/>>>|e\.g\.|for example|examples?:/i)[0] ?? '').replaceAll(/\s+/g, ' ').trim();
  const said = otherWords.reduce((words, [pattern, other]) => words.replaceAll(pattern, other), plain);
  const sentences = said.split(/(?<=[.!?]) /).reverse();
  return {
    ...task,
    name: `${task.name}, reworded`,
    problem: `I need ${name} in Python. ${sentences.join(' ')}`,
  };
}

/** A problem with nearly the same words whose answer is another one: the result comes in a list of its own. */
export function lookAlike(task: RecordedTask): RecordedTask {
  const name = /function (\w+)/.exec(task.problem)?.[1] ?? '';
  const last = task.tries.at(-1);
  const inner = (last?.code ?? '').replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `inner_${name}`);
  return replaying({
    ...task,
    name: `${task.name}, look-alike`,
    problem: `${task.problem}\n\nThe result is put into a list of one element.`,
    tests: task.tests.replace(
      new RegExp(`\\ncheck\\(${name}\\)\\n$`),
      `\ndef opened(*given):\n    result = ${name}(*given)\n    assert isinstance(result, list) and len(result) == 1\n    return result[0]\ncheck(opened)\n`,
    ),
    tries: [
      ...task.tries.slice(0, -1),
      { code: `${inner}\ndef ${name}(*given):\n    return [inner_${name}(*given)]\n`, reflection: noIdea },
    ],
  });
}
