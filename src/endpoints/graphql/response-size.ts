/** Bounds the size of a response while it is built. Every field of the schema counts. */
import {
  defaultFieldResolver,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { AppError } from '../../errors.ts'
import type { RequestMemory } from '../../http/memory.ts'
import { yieldToOthers } from '../../lib/event-loop.ts'

const mib = 1024 * 1024

/** Bytes of a response. */
export const maxResponse = 8 * mib
/** The length of a list whose fields take milliseconds to complete. */
const longList = 100

/** Counts the bytes of one response, and takes memory for them. */
export class ResponseBudget {
  readonly #memory: RequestMemory
  #bytes = 0
  #refusal: AppError | null = null

  constructor(memory: RequestMemory) {
    this.#memory = memory
  }

  /** The error that prevents the response; null while it can be sent. */
  get refusal(): AppError | null {
    return this.#refusal
  }

  /** After a refusal, throws the same error for each further field. @throws RESPONSE_TOO_LARGE, RATE_LIMITED, UNAVAILABLE */
  spend(bytes: number): void {
    if (this.#refusal) throw this.#refusal
    this.#bytes += bytes
    if (this.#bytes > maxResponse) throw this.#refuse(tooLarge())
    try {
      this.#memory.growResponse(this.#bytes)
    } catch (error) {
      throw error instanceof AppError ? this.#refuse(error) : error
    }
  }

  #refuse(error: AppError): AppError {
    this.#refusal = error
    return error
  }
}

function tooLarge(): AppError {
  const message = `The response would have more than ${maxResponse / mib} MiB: ask for fewer fields or a smaller page.`
  return new AppError('RESPONSE_TOO_LARGE', message, { facts: { maxBytes: maxResponse } })
}

/** The part of the context that fields count with. */
interface CountedContext {
  response: ResponseBudget
}

/** Makes every field count its value before graphql completes it. Introspection has its own limit. */
export function countFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) && !isIntrospectionType(type)) countFieldsOf(type)
  }
  return schema
}

function countFieldsOf(type: GraphQLObjectType): void {
  for (const field of Object.values(type.getFields())) {
    const resolve = field.resolve ?? defaultFieldResolver
    const isNullable = !isNonNullType(field.type)
    const sizeOf = isLeafType(getNamedType(field.type)) ? sizeOfLeaf : sizeOfObjects
    const count = ({ response }: CountedContext, value: unknown, info: GraphQLResolveInfo) => {
      response.spend(sizeOf(value, info))
      return value
    }
    const inTurn: typeof count = (context, value, info) =>
      Array.isArray(value) && value.length >= longList
        ? yieldToOthers().then(() => count(context, value, info))
        : count(context, value, info)
    field.resolve = (source, args, context: CountedContext, info) => {
      // An error for each of many thousand fields would itself be large.
      if (context.response.refusal && isNullable) return null
      // A list that meets an error at once leaves the promises of its earlier items without a handler (GraphQL.js 16), and the
      // rejection of one of them would end the process. Therefore no field throws.
      try {
        const value: unknown = resolve(source, args, context, info)
        return value instanceof Promise
          ? value.then(settled => inTurn(context, settled, info))
          : inTurn(context, value, info)
      } catch (error) {
        return Promise.reject(error)
      }
    }
  }
}

function sizeOfLeaf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? 'null')
}

/** Returns the bytes of the braces and field names; the fields count their own values. */
function sizeOfObjects(value: unknown, { fieldNodes, fragments }: GraphQLResolveInfo): number {
  if (value === null || value === undefined) return 4
  const each = fieldNodes.reduce((sum, { selectionSet }) => sum + sizeOfNames(selectionSet, fragments), 3)
  return 2 + (Array.isArray(value) ? value.length : 1) * each
}

/** Bytes of a type's name, which `__typename` returns. */
const typeNameBytes = 32
const known = new WeakMap<SelectionSetNode, number>()

/** Returns the bytes of an object without its values, summed over all types that it can have. */
function sizeOfNames(set: SelectionSetNode | undefined, fragments: GraphQLResolveInfo['fragments']): number {
  if (!set) return 0
  const found = known.get(set)
  if (found !== undefined) return found
  let bytes = 0
  for (const node of set.selections) {
    if (node.kind === Kind.FIELD) {
      bytes += (node.alias ?? node.name).value.length + '"":,'.length
      if (node.name.value === '__typename') bytes += typeNameBytes
    } else {
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments[node.name.value] : node
      bytes += sizeOfNames(fragment?.selectionSet, fragments)
    }
  }
  known.set(set, bytes)
  return bytes
}
