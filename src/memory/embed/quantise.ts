/**
 * Builds a fast encoder with 8-bit weights from an fp32 BERT, byte for byte the same on every machine.
 *
 * No trustworthy package contains the quantised model, so setup makes it. The graph is rebuilt from the named weights
 * with ONNX Runtime's fused operators: the runtime fuses fp32 graphs by itself, but not once the matrix products are
 * in 8 bits. Weights use 7 of the 8 bits, because processors without VNNI saturate when they add two full products.
 */
import { GraphWriter, type ModelParts, readModel, type Weight } from './onnx.ts';

const WEIGHT_MAX = 63;
const BYTE_MAX = 127;
/** These are not among the weights; every model here has the same values. */
const HEADS = 12;
const EPSILON = 1e-12;
/** A missing optional input. */
const NO_MASK = '';

export function quantise(model: Uint8Array): Uint8Array {
  const bert = readModel(model);
  const graph = new GraphWriter();
  let tokens = embeddings(graph, bert);
  const layers = layerCount(bert);
  for (let layer = 0; layer < layers; layer += 1) {
    const output = layer === layers - 1 ? 'last_hidden_state' : `layer.${layer}`;
    tokens = transformerLayer({ graph, bert, layer }, tokens, output);
  }
  return graph.model([bert.declaration('input_ids')], [bert.declaration('last_hidden_state')]);
}

function layerCount(bert: ModelParts): number {
  let count = 0;
  while (bert.rightSide(`/encoder/layer.${count}/output/dense/MatMul`) !== null) count += 1;
  return count;
}

/**
 * Word embeddings are stored as bytes and widened after the lookup; position embeddings are few and stay as they are.
 */
function embeddings(graph: GraphWriter, bert: ModelParts): string {
  const table = wholeQuantised(named(bert, 'embeddings.word_embeddings.weight'));
  const words = graph.node(
    'DequantizeLinear',
    [
      graph.node(
        'Gather',
        [graph.constant('words', table.dims, table.bytes), 'input_ids'],
        'embeddings.bytes',
      ),
      graph.constant('words.scale', [], table.scale),
      graph.constant('words.zero', [], new Int8Array(1)),
    ],
    'embeddings.words',
  );
  const { dims, values } = placesOfOneText(bert);
  const places = graph.node(
    'Slice',
    [
      graph.constant('places', dims, values),
      graph.constant('places.start', [1], BigInt64Array.of(0n)),
      graph.node('Shape', ['input_ids'], 'places.end', { integers: { start: 1, end: 2 } }),
    ],
    'embeddings.places',
  );
  return normalised({ graph, bert }, [words, places], 'embeddings.LayerNorm', 'embeddings');
}

/** Texts are never pairs, so the segment embedding of the first text is added to each position. */
function placesOfOneText(bert: ModelParts): Weight {
  const { dims, values } = named(bert, 'embeddings.position_embeddings.weight');
  const first = named(bert, 'embeddings.token_type_embeddings.weight').values;
  const width = dims[1] ?? 0;
  return { dims, values: values.map((value, i) => value + (first[i % width] ?? 0)) };
}

interface Writing {
  readonly graph: GraphWriter;
  readonly bert: ModelParts;
}

interface LayerWriting extends Writing {
  readonly layer: number;
}

function transformerLayer(writing: LayerWriting, tokens: string, output: string): string {
  const { graph, bert, layer } = writing;
  const prefix = `encoder.layer.${layer}`;
  const attended = product(
    writing,
    attention(writing, tokens),
    'attention/output/dense',
    `${prefix}.attention.output`,
  );
  const between = normalised(
    writing,
    [attended, tokens],
    `${prefix}.attention.output.LayerNorm`,
    `${prefix}.between`,
  );
  const wide = product(writing, between, 'intermediate/dense', `${prefix}.wide`, 'bias later');
  const bias = named(bert, `${prefix}.intermediate.dense.bias`);
  const active = graph.node(
    'BiasGelu',
    [wide, graph.constant(`${prefix}.wide.bias`, bias.dims, bias.values)],
    `${prefix}.active`,
    { from: 'own' },
  );
  const narrow = product(writing, active, 'output/dense', `${prefix}.narrow`);
  return normalised(writing, [narrow, between], `${prefix}.output.LayerNorm`, output);
}

/** One product computes queries, keys and values. */
function attention({ graph, bert, layer }: LayerWriting, tokens: string): string {
  const name = `encoder.layer.${layer}.attention`;
  const parts = ['query', 'key', 'value'];
  const weight = sideBySide(
    parts.map((part) => rightSide(bert, `/encoder/layer.${layer}/attention/self/${part}/MatMul`)),
  );
  const bias = sideBySide(
    parts.map((part) => {
      const { dims, values } = named(bert, `${name}.self.${part}.bias`);
      return { dims: [1, ...dims], values };
    }),
  );
  const bytes = graph.node('DynamicQuantizeLinear', [tokens], `${name}.bytes`, {
    also: [`${name}.scale`, `${name}.zero`],
  });
  const quantised = columnQuantised(graph, weight, `${name}.weight`);
  return graph.node(
    'QAttention',
    [
      bytes,
      quantised.bytes,
      graph.constant(`${name}.bias`, [bias.values.length], bias.values),
      `${name}.scale`,
      quantised.scale,
      NO_MASK,
      `${name}.zero`,
      quantised.zero,
    ],
    name,
    { from: 'own', integers: { num_heads: HEADS } },
  );
}

/** Quantises its input, multiplies, and adds the bias unless the next node does that. */
function product(
  { graph, bert, layer }: LayerWriting,
  input: string,
  path: string,
  output: string,
  biased: 'bias now' | 'bias later' = 'bias now',
): string {
  const weight = rightSide(bert, `/encoder/layer.${layer}/${path}/MatMul`);
  const { bytes, scale, zero } = columnQuantised(graph, weight, `${output}.weight`);
  const inputs = [input, bytes, scale, zero];
  if (biased === 'bias now') {
    const bias = named(bert, `encoder.layer.${layer}.${path.replaceAll('/', '.')}.bias`);
    inputs.push(graph.constant(`${output}.bias`, bias.dims, bias.values));
  }
  return graph.node('DynamicQuantizeMatMul', inputs, output, { from: 'own' });
}

/** Two nodes, because `SkipLayerNormalization` takes four times as long as both. */
function normalised(
  { graph, bert }: Writing,
  [a, b]: readonly [string, string],
  name: string,
  output: string,
): string {
  const [weight, bias] = [named(bert, `${name}.weight`), named(bert, `${name}.bias`)];
  return graph.node(
    'LayerNormalization',
    [
      graph.node('Add', [a, b], `${name}.sum`),
      graph.constant(`${name}.weight`, weight.dims, weight.values),
      graph.constant(`${name}.bias`, bias.dims, bias.values),
    ],
    output,
    { floats: { epsilon: EPSILON } },
  );
}

function columnQuantised(graph: GraphWriter, { dims, values }: Weight, name: string) {
  const columns = dims[1] ?? 0;
  const scales = new Float32Array(columns);
  for (let i = 0; i < values.length; i += 1) {
    const column = i % columns;
    scales[column] = Math.max(scales[column] ?? 0, Math.abs(values[i] ?? 0));
  }
  for (let column = 0; column < columns; column += 1) scales[column] = (scales[column] || 1) / WEIGHT_MAX;
  const bytes = new Int8Array(values.length);
  for (let i = 0; i < values.length; i += 1)
    bytes[i] = Math.round((values[i] ?? 0) / (scales[i % columns] ?? 1));
  return {
    bytes: graph.constant(name, dims, bytes),
    scale: graph.constant(`${name}.scale`, [columns], scales),
    zero: graph.constant(`${name}.zero`, [columns], new Int8Array(columns)),
  };
}

function wholeQuantised({ dims, values }: Weight) {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  const scale = (largest || 1) / BYTE_MAX;
  const bytes = new Int8Array(values.length);
  for (let i = 0; i < values.length; i += 1) bytes[i] = Math.round((values[i] ?? 0) / scale);
  return { dims, bytes, scale: Float32Array.of(scale) };
}

/** Matrices of the same height, joined into one. */
function sideBySide(weights: readonly Weight[]): Weight {
  const rows = weights[0]?.dims[0] ?? 0;
  const widths = weights.map(({ dims }) => dims[1] ?? 0);
  const columns = widths.reduce((sum, width) => sum + width, 0);
  const values = new Float32Array(rows * columns);
  for (let row = 0, at = 0; row < rows; row += 1) {
    for (const [i, weight] of weights.entries()) {
      const width = widths[i] ?? 0;
      values.set(weight.values.subarray(row * width, (row + 1) * width), at);
      at += width;
    }
  }
  return { dims: [rows, columns], values };
}

function named(bert: ModelParts, name: string): Weight {
  return present(bert.weight(name), name);
}

function rightSide(bert: ModelParts, node: string): Weight {
  return present(bert.rightSide(node), node);
}

function present(weight: Weight | null, name: string): Weight {
  if (weight === null) throw new Error(`The model has no ${name}.`);
  return weight;
}
