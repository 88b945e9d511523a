/** Times in everyday words, translated to cron text or to a calendar moment. */

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const dayMs = 86_400_000;
const clock = /^(?:at\s+)?(?:(\d{1,2})(?::(\d{2}))?\s*(am|pm)?|(noon|midnight))$/i;
const spoken =
  /^(every\s+|on\s+|next\s+)?(today|tomorrow|daily|day|weekday|[a-z]+day)s?\s+(.+?)(?:\s+(\w+\/\S+|UTC))?$/i;

/**
 * `tomorrow 9am`, `friday at 14:30`, `every monday at 9`, `every weekday at noon`, each with an optional time zone at
 * the end. Undefined for anything else.
 */
export function naturalTime(text: string, zone: string, now: number): string | undefined {
  const [, how = '', given = '', at = '', own] = spoken.exec(text.trim()) ?? [];
  const time = timeOf(at);
  if (time === undefined) return undefined;
  const [word, isEvery] = [given.toLowerCase(), /^every/i.test(how)];
  const day = days.indexOf(word);
  const where = own ?? zone;
  if (isEvery || (word === 'daily' && how === '')) {
    const when = word === 'day' || word === 'daily' ? '*' : word === 'weekday' ? '1-5' : String(day);
    return when === '-1' ? undefined : `${time.minute} ${time.hour} * * ${when} ${where}`;
  }
  const today = dateIn(where, now);
  if (today === undefined) return undefined;
  const inDays = word === 'today' ? 0 : word === 'tomorrow' ? 1 : day < 0 ? undefined : untilDay(today, day);
  if (inDays === undefined) return undefined;
  const date = new Date(today.getTime() + inDays * dayMs).toISOString().slice(0, 10);
  return `${date}T${two(time.hour)}:${two(time.minute)} ${where}`;
}

function timeOf(text: string): { readonly hour: number; readonly minute: number } | undefined {
  const found = clock.exec(text.trim());
  if (found === null) return undefined;
  const [, hours, minutes = '0', half, word] = found;
  if (word !== undefined) return { hour: word.toLowerCase() === 'noon' ? 12 : 0, minute: 0 };
  const [hour, minute] = [Number(hours), Number(minutes)];
  if (minute > 59 || hour > 23) return undefined;
  if (half === undefined) return { hour, minute };
  if (hour < 1 || hour > 12) return undefined;
  return { hour: (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0), minute };
}

/** The calendar day in that zone, as midnight in UTC. */
function dateIn(zone: string, now: number): Date | undefined {
  try {
    return new Date(`${new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(now)}T00:00:00Z`);
  } catch {
    return undefined;
  }
}

/** The next weekday of that name, never today. */
function untilDay(today: Date, day: number): number {
  return ((day - today.getUTCDay() + 6) % 7) + 1;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
