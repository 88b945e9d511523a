import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Cancel } from '../base/cancel.ts';
import { Counter, familyText, Histogram, type MetricFamily, type Sample } from '../base/metrics-text.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from '../runs/index.ts';
import type { EventSink } from '../seams/events.ts';
import type { Measurements } from '../seams/measurements.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Telemetry } from '../seams/telemetry.ts';

const searchRoute = '/api/v1/context/search';
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Walking all journals takes longer than everything else. */
const journalsEveryMs = 60_000;

interface MeasuredParts {
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly runs: Runs;
  readonly stateDir: string;
  readonly version: string;
  readonly telemetry: Telemetry | undefined;
}

export interface OpenedMeasurements extends Disposable {
  /** Counts each event before it goes to the sink. */
  counted<Sink extends EventSink>(sink: Sink): Sink;
  of(parts: MeasuredParts): Measurements;
}

export function openMeasurements(): OpenedMeasurements {
  const events = new Counter();
  const runs = new Counter();
  const turns = new Counter();
  const requests = new Counter();
  const requestSeconds = new Histogram(secondsBounds);
  const searchSeconds = new Histogram(secondsBounds);
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();

  const note: EventSink['emit'] = (_, event) => {
    events.add({ type: event.type });
    if (event.type === 'run-end') runs.add({ language: event.language, outcome: outcomeOf(event.exitCode) });
    if (event.type === 'turn-end') turns.add({ driver: event.driver, outcome: event.outcome });
  };

  const of = (parts: MeasuredParts): Measurements => {
    let journals: { readonly at: number; readonly bytes: number } | undefined;
    const journalBytes = async () => {
      if (journals === undefined || performance.now() - journals.at > journalsEveryMs)
        journals = { at: performance.now(), bytes: await bytesOfJournals(parts.stateDir) };
      return [{ value: journals.bytes }];
    };
    return {
      countRequest({ method, route, status, seconds }) {
        requests.add({ method, route, status: `${status}` });
        requestSeconds.add(seconds);
        if (route === searchRoute) searchSeconds.add(seconds);
      },
      async text({ signal } = {}) {
        const delaySeconds = [0.5, 0.99].map((quantile) => ({
          labels: { percentile: `${quantile * 100}` },
          value: delay.percentile(quantile * 100) / 1e9,
        }));
        const families: readonly MetricFamily[] = [
          gauge('geode_info', 'The version of the host.', [{ labels: { version: parts.version }, value: 1 }]),
          counter(
            'geode_events_total',
            'Events of the host, by type: process-start, tool-call, egress-denied, …',
            events.samples,
          ),
          counter('geode_runs_total', 'Runs of code that have ended.', runs.samples),
          counter('geode_turns_total', "Agents' turns that have ended.", turns.samples),
          counter('geode_http_requests_total', 'Requests to the API.', requests.samples),
          counter(
            'geode_telemetry_spans_total',
            'Spans of traces by source and outcome: sent, lost, refused.',
            parts.telemetry?.samples() ?? [],
          ),
          ...poolFamilies(parts.runs),
          gauge(
            'geode_sandboxes',
            'Sandboxes by state, runtime and isolation grade.',
            await sandboxSamples(parts.sandboxes, { signal }),
          ),
          gauge('geode_journal_bytes', 'Bytes of all journals on disk.', await journalBytes()),
          ...ledgerFamilies(parts.ledger),
          gauge('geode_event_loop_delay_seconds', 'Delay of the event loop since the start.', delaySeconds),
          gauge('process_resident_memory_bytes', 'Resident memory of the host.', [
            { value: process.memoryUsage.rss() },
          ]),
          counter('process_cpu_seconds_total', 'Processor time of the host.', [{ value: cpuSeconds() }]),
          gauge('process_start_time_seconds', 'When the host started, since 1970.', [
            { value: Date.now() / 1000 - process.uptime() },
          ]),
        ];
        const texts = families.filter(({ samples }) => samples.length > 0).map(familyText);
        return `${[
          ...texts,
          requestSeconds.text(
            'geode_http_request_seconds',
            'Time of a request to the API, until its headers.',
          ),
          searchSeconds.text('geode_memory_search_seconds', 'Time of a search in memory.'),
        ].join('\n')}\n`;
      },
    };
  };
  return {
    counted(sink) {
      const emit = sink.emit.bind(sink);
      sink.emit = (user, event) => {
        note(user, event);
        emit(user, event);
      };
      return sink;
    },
    of,
    [Symbol.dispose]: () => void delay.disable(),
  };
}

function counter(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'counter', samples };
}

function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'gauge', samples };
}

function outcomeOf(exitCode: number | null): string {
  if (exitCode === null) return 'stopped';
  return exitCode === 0 ? 'done' : 'failed';
}

function poolFamilies(runs: Runs): readonly MetricFamily[] {
  const { running, waiting, ending, pool } = runs.metrics();
  const sum = (of: (stock: (typeof pool)[number]) => number) =>
    pool.reduce((all, stock) => all + of(stock), 0);
  const states = { running, waiting, ending };
  const pooled = {
    ready: sum(({ ready }) => ready),
    making: sum(({ making }) => making),
    target: sum(({ target }) => target),
  };
  return [
    gauge('geode_runs', 'Runs by state; ending: the sandbox is being removed.', samplesOf('state', states)),
    gauge('geode_pool_sandboxes', 'Sandboxes kept ready for runs.', samplesOf('state', pooled)),
  ];
}

function samplesOf(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

async function sandboxSamples(sandboxes: Sandboxes, cancel: Cancel): Promise<readonly Sample[]> {
  const counts = new Counter();
  for (const { state, runtime, grade } of await sandboxes.all(cancel))
    counts.add({ state, runtime, grade: grade ?? 'unknown' });
  return counts.samples;
}

/** Tables of parts that this host has not opened, as a bus in PostgreSQL, are left out. */
function ledgerFamilies(ledger: Ledger): readonly MetricFamily[] {
  const rows = (table: string, query: string) =>
    ledger.read((sql) =>
      sql.get`SELECT 1 FROM sqlite_master WHERE name = ${table}` === undefined
        ? []
        : sql.prepared(query).all(),
    );
  const messages = rows('bus_inbox', 'SELECT state, count(*) AS value FROM bus_inbox GROUP BY state');
  const audit = rows('egress_audit', 'SELECT verdict, count(*) AS value FROM egress_audit GROUP BY verdict');
  const used = [
    ...rows('model_usage', usage('cost', 'model_usage')),
    ...rows('egress_usage', usage('cost_micros / 1e6', 'egress_usage')),
  ];
  const total = (name: string) => used.reduce((sum, row) => sum + Number(row[name] ?? 0), 0);
  const labelled = (label: string, found: typeof used) =>
    found.map((row) => ({ labels: { [label]: String(row[label]) }, value: Number(row.value) }));
  const tokens = { input: total('input'), output: total('output') };
  return [
    gauge(
      'geode_bus_messages',
      'Messages of chats by state; waiting and running are the depth.',
      labelled('state', messages),
    ),
    gauge(
      'geode_egress_audit_records',
      'Network requests in the audit, by verdict.',
      labelled('verdict', audit),
    ),
    counter('geode_model_tokens_total', 'Tokens of models, by direction.', samplesOf('direction', tokens)),
    counter('geode_model_cost_dollars_total', 'Cost of models in US dollars.', [{ value: total('cost') }]),
  ];
}

function usage(cost: string, table: string): string {
  return `SELECT sum(input_tokens) AS input, sum(output_tokens) AS output, sum(${cost}) AS cost FROM ${table}`;
}

async function bytesOfJournals(stateDir: string): Promise<number> {
  const rooms = join(stateDir, 'sandboxes');
  let bytes = 0;
  for (const id of await readdir(rooms).catch(() => [])) {
    const folder = join(rooms, id, 'journals');
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    for (const name of names) {
      const facts = await stat(join(folder, name)).catch(() => undefined);
      if (facts?.isFile()) bytes += facts.blocks * 512;
    }
  }
  return bytes;
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
