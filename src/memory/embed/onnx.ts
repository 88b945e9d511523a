/** The part of the ONNX file format that setup reads and writes. */
import { concatFields, fieldBytes, fieldFloat, fieldText, fieldVarint, readFields } from './protobuf.ts';

// The field numbers of onnx.proto, and the types and versions that are used here.
const MODEL = { irVersion: 1, graph: 7, opsetImport: 8 };
const OPSET = { domain: 1, version: 2 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, op: 4, attribute: 5, domain: 7 };
const READ_NODE = { ...NODE, name: 3 };
const ATTRIBUTE = { name: 1, float: 2, integer: 3, type: 20 };
const ATTRIBUTE_TYPE = { float: 1, integer: 2 };
const TENSOR = { dims: 1, type: 2, floats: 4, name: 8, raw: 9 };
const VALUE = { name: 1 };
const TYPE = { float: 1, int8: 3, int64: 7 };
const IR_VERSION = 8;
const STANDARD_OPERATORS = 17;
const OWN_OPERATORS = { domain: 'com.microsoft', version: 1 };

export interface Weight {
  readonly dims: readonly number[];
  readonly values: Float32Array;
}

/** Inputs of a model, by name. */
export interface ModelParts {
  /** Null if no node has that name. */
  weight(name: string): Weight | null;
  /** The constant right side of the matrix product with that name; null if there is no such product. */
  rightSide(node: string): Weight | null;
  /** The raw declaration of an input or an output. */
  declaration(name: string): Uint8Array;
}

export function readModel(model: Uint8Array): ModelParts {
  const graph = readFields(model).find((field) => field.number === MODEL.graph)?.bytes;
  if (graph === undefined) throw new Error('The file is not an ONNX model.');
  const fields = readFields(graph);
  const named = (number: number, name: number) =>
    new Map(
      fields
        .filter((field) => field.number === number)
        .map(({ bytes }) => [decoder.decode(fieldOf(bytes, name)), bytes]),
    );
  const tensors = named(GRAPH.initializer, TENSOR.name);
  const nodes = named(GRAPH.node, READ_NODE.name);
  const declared = new Map([...named(GRAPH.input, VALUE.name), ...named(GRAPH.output, VALUE.name)]);
  const weight = (name: string) => {
    const tensor = tensors.get(name);
    return tensor === undefined ? null : readWeight(tensor);
  };
  return {
    weight,
    rightSide(node) {
      const inputs = readFields(nodes.get(node) ?? new Uint8Array()).filter(
        (field) => field.number === NODE.input,
      );
      return inputs[1] === undefined ? null : weight(decoder.decode(inputs[1].bytes));
    },
    declaration(name) {
      const found = declared.get(name);
      if (found === undefined) throw new Error(`The model has no ${name}.`);
      return found;
    },
  };
}

function readWeight(tensor: Uint8Array): Weight {
  return {
    dims: readFields(tensor)
      .filter((field) => field.number === TENSOR.dims)
      .map((field) => field.value),
    values: new Float32Array(
      new Uint8Array(fieldOf(tensor, TENSOR.raw) ?? fieldOf(tensor, TENSOR.floats) ?? []).buffer,
    ),
  };
}

function fieldOf(message: Uint8Array, number: number): Uint8Array | undefined {
  return readFields(message).findLast((field) => field.number === number)?.bytes;
}

export interface NodeOptions {
  /** `own` for operators that only ONNX Runtime has. */
  readonly from?: 'standard' | 'own';
  readonly integers?: Readonly<Record<string, number>>;
  readonly floats?: Readonly<Record<string, number>>;
  /** Further outputs after the first. */
  readonly also?: readonly string[];
}

/** Collects nodes and constants in the order in which they are given. */
export class GraphWriter {
  readonly #nodes: Uint8Array[] = [];
  readonly #constants: Uint8Array[] = [];

  /** Returns the name of the output, for the next node. */
  node(op: string, inputs: readonly string[], output: string, options: NodeOptions = {}): string {
    const { from = 'standard', integers = {}, floats = {}, also = [] } = options;
    const attributes = [
      ...Object.entries(integers).map(([name, value]) => [
        fieldText(ATTRIBUTE.name, name),
        fieldVarint(ATTRIBUTE.integer, value),
        fieldVarint(ATTRIBUTE.type, ATTRIBUTE_TYPE.integer),
      ]),
      ...Object.entries(floats).map(([name, value]) => [
        fieldText(ATTRIBUTE.name, name),
        fieldFloat(ATTRIBUTE.float, value),
        fieldVarint(ATTRIBUTE.type, ATTRIBUTE_TYPE.float),
      ]),
    ];
    this.#nodes.push(
      concatFields([
        ...inputs.map((input) => fieldText(NODE.input, input)),
        ...[output, ...also].map((name) => fieldText(NODE.output, name)),
        fieldText(NODE.op, op),
        ...attributes.map((fields) => fieldBytes(NODE.attribute, concatFields(fields))),
        ...(from === 'own' ? [fieldText(NODE.domain, OWN_OPERATORS.domain)] : []),
      ]),
    );
    return output;
  }

  /** Returns its name. */
  constant(name: string, dims: readonly number[], values: Int8Array | Float32Array | BigInt64Array): string {
    this.#constants.push(
      concatFields([
        ...dims.map((dim) => fieldVarint(TENSOR.dims, dim)),
        fieldVarint(TENSOR.type, typeOf(values)),
        fieldText(TENSOR.name, name),
        fieldBytes(TENSOR.raw, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)),
      ]),
    );
    return name;
  }

  model(inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]): Uint8Array {
    const graph = concatFields([
      ...this.#nodes.map((node) => fieldBytes(GRAPH.node, node)),
      fieldText(GRAPH.name, 'encoder'),
      ...this.#constants.map((constant) => fieldBytes(GRAPH.initializer, constant)),
      ...inputs.map((input) => fieldBytes(GRAPH.input, input)),
      ...outputs.map((output) => fieldBytes(GRAPH.output, output)),
    ]);
    return concatFields([
      fieldVarint(MODEL.irVersion, IR_VERSION),
      fieldBytes(MODEL.graph, graph),
      fieldBytes(MODEL.opsetImport, fieldVarint(OPSET.version, STANDARD_OPERATORS)),
      fieldBytes(
        MODEL.opsetImport,
        concatFields([
          fieldText(OPSET.domain, OWN_OPERATORS.domain),
          fieldVarint(OPSET.version, OWN_OPERATORS.version),
        ]),
      ),
    ]);
  }
}

function typeOf(values: Int8Array | Float32Array | BigInt64Array): number {
  if (values instanceof Int8Array) return TYPE.int8;
  return values instanceof Float32Array ? TYPE.float : TYPE.int64;
}

const decoder = new TextDecoder();
