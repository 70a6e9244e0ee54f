import { AppError, type Reason, toAppError } from '../errors.ts'
import { elementsOf, textOf, type XmlElement } from '../http/xml/parse.ts'
import { codeOf } from './error-format.ts'
import { S3Error } from './failure.ts'
import { type ObjectPath, parseKey } from './keys.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { BucketCall, ObjectCall, S3Operation } from './operation.ts'
import { sendXml } from './send.ts'
import { element, result, type Xml } from './xml.ts'
import { xmlBody } from './xml-body.ts'

const maxKeys = 1000
/** The number of objects that one request deletes at the same time. */
const atOnce = 16

/** There is no such object, so it counts as deleted: it is missing, or of the other kind, or a folder with objects below it. */
const missing: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FILE', 'NOT_A_FOLDER', 'NOT_EMPTY'])

/** An object goes to the trash, unless the request names its only version, which S3 then deletes for good. */
export const deleteObject: S3Operation<ObjectCall> = {
  method: 'DELETE',
  takes: ['versionId'],
  audit: 'DELETE',
  async run(call) {
    const version = call.query.get('versionId')
    if (version !== undefined) requireOnlyVersion(version)
    await remove(call, call, version !== undefined)
    return call.reply.status(204).send()
  },
}

/** Deletes a file or, for a key that ends in "/", an empty folder. @throws as `Files.delete` */
async function remove(
  { services, request, providerId, signal }: BucketCall,
  { path, isFolder }: ObjectPath,
  permanent: boolean,
): Promise<void> {
  const only = isFolder ? ('directory' as const) : ('file' as const)
  try {
    await services.files.delete(request.viewer, { providerId, path }, { recursive: false, only, permanent }, signal)
  } catch (error) {
    const explained = explainBucket(error, providerId)
    if (!(explained instanceof AppError) || explained !== error || !missing.has(explained.reason)) throw explained
  }
}

export const deleteObjects: S3Operation<BucketCall> = {
  method: 'POST',
  audit: 'DELETE',
  selects: ['delete'],
  async run(call) {
    const { keys, isQuiet } = parseDelete(await xmlBody(call.request, 'Delete'))
    const results: Xml[] = []
    const remaining = keys.values()
    const work = async () => {
      for (const key of remaining) {
        const failure = await removeKey(call, key).then(
          () => null,
          error => toAppError(error),
        )
        if (call.signal.aborted) return
        if (failure instanceof S3Error && failure.s3Code === 'NoSuchBucket') throw failure
        if (failure) results.push(failed(key.name, failure))
        else if (!isQuiet) results.push(element('Deleted', [element('Key', key.name)]))
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return sendXml(call.reply, result('DeleteResult', results))
  },
}

interface DeletedKey {
  name: string
  permanent: boolean
}

async function removeKey(call: BucketCall, { name, permanent }: DeletedKey): Promise<void> {
  await remove(call, parseKey(name), permanent)
}

function failed(key: string, error: AppError): Xml {
  return element('Error', [
    element('Key', key),
    element('Code', codeOf(error)),
    element('Message', error.message),
    element('Reason', error.reason),
  ])
}

/** @throws S3Error */
function parseDelete(root: XmlElement): { keys: DeletedKey[]; isQuiet: boolean } {
  const elements = elementsOf(root)
  const keys = elements.filter(({ name }) => name === 'Object').map(keyOf)
  if (keys.length === 0 || keys.length > maxKeys) {
    throw new S3Error('MalformedXML', `A request deletes 1 to ${maxKeys} objects.`)
  }
  const quiet = elements.find(({ name }) => name === 'Quiet')
  return { keys, isQuiet: quiet !== undefined && textOf(quiet).trim() === 'true' }
}

function keyOf(object: XmlElement): DeletedKey {
  const children = elementsOf(object)
  const version = versionOf(children)
  if (version !== '') requireOnlyVersion(version)
  const key = children.find(({ name }) => name === 'Key')
  if (!key) throw new S3Error('MalformedXML', 'An <Object> has no <Key>.')
  return { name: textOf(key), permanent: version !== '' }
}

function versionOf(children: readonly XmlElement[]): string {
  const version = children.find(({ name }) => name === 'VersionId')
  return version ? textOf(version) : ''
}

/** "null" is the version of an object in a bucket without versions. */
function requireOnlyVersion(version: string): void {
  if (version !== 'null') throw new S3Error('NotImplemented', 'This server keeps no versions of objects.')
}
