/**
 * Shrinks an fp32 ONNX transformer to 8-bit weights, byte for byte the same on every machine.
 *
 * No trustworthy package carries the model already quantised, so set-up does it: each `MatMul` with a
 * constant right side becomes one `DynamicQuantizeMatMul` with a scale per column, and the embedding table
 * is kept as bytes that are widened after the lookup. Weights use 7 of the 8 bits, because processors
 * without VNNI saturate when they add two full products.
 */
import { concatFields, fieldBytes, fieldText, fieldVarint, readFields } from './protobuf.ts';

const WEIGHT_MAX = 63;
const BYTE_MAX = 127;

export function quantise(model: Uint8Array): Uint8Array {
  const fields = readFields(model);
  const out = fields.map((field) =>
    field.number === MODEL.graph ? fieldBytes(MODEL.graph, quantiseGraph(field.bytes)) : field.raw,
  );
  // DynamicQuantizeMatMul lives in ONNX Runtime's own operator set.
  out.push(
    fieldBytes(
      MODEL.opsetImport,
      concatFields([fieldText(OPSET.domain, 'com.microsoft'), fieldVarint(OPSET.version, 1)]),
    ),
  );
  return concatFields(out);
}

function quantiseGraph(graph: Uint8Array): Uint8Array {
  const fields = readFields(graph);
  const nodes = fields.filter((field) => field.number === GRAPH.node).map((field) => readNode(field.bytes));
  const tensors = new Map(
    fields
      .filter((field) => field.number === GRAPH.initializer)
      .map((field) => readTensor(field.bytes))
      .map((tensor) => [tensor.name, tensor]),
  );
  const replaced = new Map<string, Uint8Array[]>();
  const newNodes = nodes.map((node) => {
    const weight = tensors.get(node.inputs[node.op === 'Gather' ? 0 : 1] ?? '');
    if (weight === undefined || weight.dims.length !== 2 || weight.type !== FLOAT) return [node.raw];
    if (node.op === 'MatMul') {
      replaced.set(weight.name, columnQuantised(weight));
      return [dynamicMatMul(node, weight.name)];
    }
    if (node.op === 'Gather') {
      replaced.set(weight.name, tableQuantised(weight));
      return lookupThenWiden(node, weight.name);
    }
    return [node.raw];
  });
  return concatFields([
    ...newNodes.flat().map((node) => fieldBytes(GRAPH.node, node)),
    ...[...tensors.values()].flatMap((tensor) =>
      (replaced.get(tensor.name) ?? [tensor.raw]).map((raw) => fieldBytes(GRAPH.initializer, raw)),
    ),
    ...fields
      .filter((field) => field.number !== GRAPH.node && field.number !== GRAPH.initializer)
      .map((field) => field.raw),
  ]);
}

function columnQuantised(weight: Tensor): Uint8Array[] {
  const [rows = 0, columns = 0] = weight.dims;
  const values = floatsOf(weight);
  const scales = new Float32Array(columns);
  for (let i = 0; i < values.length; i += 1) {
    const column = i % columns;
    scales[column] = Math.max(scales[column] ?? 0, Math.abs(values[i] ?? 0));
  }
  for (let column = 0; column < columns; column += 1) scales[column] = (scales[column] || 1) / WEIGHT_MAX;
  const bytes = Int8Array.from(values, (value, i) => Math.round(value / (scales[i % columns] ?? 1)));
  return [
    tensor(`${weight.name}.q`, INT8, [rows, columns], bytes),
    tensor(`${weight.name}.scale`, FLOAT, [columns], scales),
    tensor(`${weight.name}.zero`, INT8, [columns], new Int8Array(columns)),
  ];
}

function dynamicMatMul(node: Node, weight: string): Uint8Array {
  return concatFields([
    fieldText(NODE.input, node.inputs[0] ?? ''),
    ...['q', 'scale', 'zero'].map((part) => fieldText(NODE.input, `${weight}.${part}`)),
    fieldText(NODE.output, node.outputs[0] ?? ''),
    fieldText(NODE.name, node.name),
    fieldText(NODE.op, 'DynamicQuantizeMatMul'),
    fieldText(NODE.domain, 'com.microsoft'),
  ]);
}

function tableQuantised(weight: Tensor): Uint8Array[] {
  const values = floatsOf(weight);
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  const scale = (largest || 1) / BYTE_MAX;
  return [
    tensor(
      `${weight.name}.q`,
      INT8,
      weight.dims,
      Int8Array.from(values, (value) => Math.round(value / scale)),
    ),
    tensor(`${weight.name}.scale`, FLOAT, [], Float32Array.of(scale)),
    tensor(`${weight.name}.zero`, INT8, [], new Int8Array(1)),
  ];
}

function lookupThenWiden(node: Node, weight: string): Uint8Array[] {
  const output = node.outputs[0] ?? '';
  const gather = concatFields([
    fieldText(NODE.input, `${weight}.q`),
    fieldText(NODE.input, node.inputs[1] ?? ''),
    fieldText(NODE.output, `${output}.q`),
    ...node.otherFields,
  ]);
  const widen = concatFields([
    ...[`${output}.q`, `${weight}.scale`, `${weight}.zero`].map((input) => fieldText(NODE.input, input)),
    fieldText(NODE.output, output),
    fieldText(NODE.name, `${node.name}.widen`),
    fieldText(NODE.op, 'DequantizeLinear'),
  ]);
  return [gather, widen];
}

// The field numbers of onnx.proto that are touched here.
const MODEL = { graph: 7, opsetImport: 8 };
const OPSET = { domain: 1, version: 2 };
const GRAPH = { node: 1, initializer: 5 };
const NODE = { input: 1, output: 2, name: 3, op: 4, domain: 7 };
const TENSOR = { dims: 1, type: 2, floats: 4, name: 8, raw: 9 };
const FLOAT = 1;
const INT8 = 3;

interface Node {
  readonly raw: Uint8Array;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly name: string;
  readonly op: string;
  /** Everything but inputs and outputs, as it was. */
  readonly otherFields: readonly Uint8Array[];
}

function readNode(raw: Uint8Array): Node {
  const fields = readFields(raw);
  const texts = (number: number) =>
    fields.filter((field) => field.number === number).map((field) => decoder.decode(field.bytes));
  return {
    raw,
    inputs: texts(NODE.input),
    outputs: texts(NODE.output),
    name: texts(NODE.name)[0] ?? '',
    op: texts(NODE.op)[0] ?? '',
    otherFields: fields
      .filter((field) => field.number !== NODE.input && field.number !== NODE.output)
      .map((field) => field.raw),
  };
}

interface Tensor {
  readonly raw: Uint8Array;
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
  readonly content: Uint8Array;
}

function readTensor(raw: Uint8Array): Tensor {
  const fields = readFields(raw);
  const last = (number: number) => fields.findLast((field) => field.number === number);
  return {
    raw,
    name: decoder.decode(last(TENSOR.name)?.bytes),
    type: last(TENSOR.type)?.value ?? 0,
    dims: fields.filter((field) => field.number === TENSOR.dims).map((field) => field.value),
    content: (last(TENSOR.raw) ?? last(TENSOR.floats))?.bytes ?? new Uint8Array(),
  };
}

function floatsOf(tensor: Tensor): Float32Array {
  return new Float32Array(new Uint8Array(tensor.content).buffer);
}

function tensor(name: string, type: number, dims: readonly number[], values: Int8Array | Float32Array) {
  return concatFields([
    ...dims.map((dim) => fieldVarint(TENSOR.dims, dim)),
    fieldVarint(TENSOR.type, type),
    fieldText(TENSOR.name, name),
    fieldBytes(TENSOR.raw, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)),
  ]);
}

const decoder = new TextDecoder();
