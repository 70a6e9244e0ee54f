/** Checks the fake server against Microsoft's published behavior with Microsoft's own client. */
import { randomBytes } from 'node:crypto'
import { type Client, GraphError, OneDriveLargeFileUploadTask, ResponseType } from '@microsoft/microsoft-graph-client'
import t from 'tap'
import { connect as connectWith, publicUrl, send } from './onedrive/client.ts'
import { type OneDrive, startOneDrive } from './onedrive/index.ts'

const unit = 320 * 1024

function connect(fake: OneDrive, token = fake.oauth.issue()): Client {
  fake.publicUrl = publicUrl
  return connectWith(fake, token)
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return error instanceof GraphError ? `${error.statusCode} ${error.code}` : String(error)
  }
}

t.test('items are created, found without case, renamed, moved and deleted', async t => {
  const fake = await startOneDrive(t)
  const client = connect(fake)
  const folder = await client.api('/me/drive/root/children').post({ name: 'Folder', folder: {} })
  t.match(folder, { name: 'Folder', folder: { childCount: 0 }, eTag: /^"\{.+\},\d+"$/ })
  t.equal(
    await refusalOf(client.api('/me/drive/root/children').post({ name: 'folder', folder: {} })),
    '409 nameAlreadyExists',
  )
  t.equal(
    await refusalOf(client.api('/me/drive/root/children').post({ name: 'a:b', folder: {} })),
    '400 invalidRequest',
  )
  const file = await client.api('/me/drive/root:/Folder/file.txt:/content').put('content')
  t.match(file, { name: 'file.txt', size: 7, file: { hashes: { quickXorHash: String } }, cTag: String })
  t.equal(await refusalOf(client.api('/me/drive/root:/missing/file:/content').put('no')), '404 itemNotFound')
  const keeping = '/me/drive/root:/Folder/FILE.TXT:/content?@microsoft.graph.conflictBehavior=fail'
  t.equal(await refusalOf(client.api(keeping).put('no')), '409 nameAlreadyExists')
  const replaced = await client.api('/me/drive/root:/folder/FILE.txt:/content').put('changed')
  t.match(replaced, { id: file.id, name: 'file.txt' })
  t.not(replaced.cTag, file.cTag)
  const selected = await client.api('/me/drive/root:/Folder/file.txt').select('id,name').get()
  t.strictSame(
    Object.keys(selected).filter(name => !name.startsWith('@')),
    ['id', 'name'],
  )

  const item = client.api(`/me/drive/items/${file.id}`)
  const times = { fileSystemInfo: { lastModifiedDateTime: '2020-01-02T03:04:05.000Z' } }
  const dated = await item.patch(times)
  t.match(dated, times)
  t.equal(dated.cTag, replaced.cTag, 'the content is the same')
  t.not(dated.eTag, replaced.eTag)
  const { id: root } = await client.api('/me/drive/root').get()
  const move = { name: 'moved', parentReference: { id: root } }
  const old = client.api(`/me/drive/items/${file.id}`).header('if-match', replaced.eTag)
  t.equal(await refusalOf(old.patch(move)), '412 resourceModified')
  t.match(await client.api(`/me/drive/items/${file.id}`).header('if-match', dated.eTag).patch(move), { name: 'moved' })
  const taken = client.api(`/me/drive/items/${file.id}`).patch({ name: 'FOLDER' })
  t.equal(await refusalOf(taken), '409 nameAlreadyExists')
  await client.api(`/me/drive/items/${folder.id}`).delete()
  t.equal(await refusalOf(client.api(`/me/drive/items/${folder.id}`).get()), '404 itemNotFound')
  t.equal(await refusalOf(connect(fake, 'made up').api('/me/drive').get()), '401 InvalidAuthenticationToken')
})

t.test('a folder is listed in pages, and content is downloaded from an address without a token', async t => {
  const fake = await startOneDrive(t)
  const client = connect(fake)
  for (let i = 0; i < 25; i += 1) fake.addFile(`folder/file ${String(i).padStart(2, '0')}`, `content ${i}`)
  const names: string[] = []
  for (let page = await client.api('/me/drive/root:/folder:/children').top(10).get(); page; ) {
    names.push(...page.value.map(({ name }: { name: string }) => name))
    const next = page['@odata.nextLink']
    page = next ? await client.api(next).get() : undefined
  }
  t.equal(new Set(names).size, 25)
  const item = await client.api('/me/drive/root:/folder/file 07').get()
  const address = item['@microsoft.graph.downloadUrl']
  t.equal(await (await send(fake, address)).text(), 'content 7')
  const part = await send(fake, address, { headers: { range: 'bytes=3-5' } })
  t.equal(part.status, 206)
  t.equal(await part.text(), 'ten')
  const response = await client
    .api('/me/drive/root:/folder/file 07:/content')
    .responseType(ResponseType.ARRAYBUFFER)
    .get()
  t.equal(Buffer.from(response).toString(), 'content 7')
  t.match(await client.api('/me/drive').get(), { driveType: 'business', quota: { used: Number, total: Number } })
  t.match(await client.api('/sites/contoso.sharepoint.com:/sites/Team:/drive').get(), { driveType: 'documentLibrary' })
})

t.test("Microsoft's own upload task sends a file in ranges", async t => {
  const fake = await startOneDrive(t)
  const client = connect(fake)
  const bytes = randomBytes(3 * unit + 77)
  const upload = (conflictBehavior: string) =>
    OneDriveLargeFileUploadTask.create(client, bytes, {
      fileName: 'large',
      path: '/',
      rangeSize: unit,
      conflictBehavior,
    })
  const { responseBody } = await (await upload('fail')).upload()
  t.match(responseBody, { name: 'large', size: bytes.length })
  t.ok(Buffer.concat(fake.drive.tree.find('large')?.chunks ?? []).equals(bytes))
  t.equal(await refusalOf(upload('fail')), '409 nameAlreadyExists')
  const task = await upload('replace')
  const slice = (start: number, end: number) => {
    const range = { minValue: start, maxValue: end - 1 } as Parameters<typeof task.uploadSlice>[1]
    return task.uploadSlice(new Uint8Array(bytes.subarray(start, end)).buffer, range, bytes.length)
  }
  t.match(await slice(0, unit), { nextExpectedRanges: [`${unit}-`] })
  t.equal(await refusalOf(slice(0, unit)), '416 invalidRange')
  t.equal(await refusalOf(slice(unit, unit + 1000)), '400 invalidRequest')
  t.match(await task.getStatus(), { nextExpectedRanges: [`${unit}-`] })
  await task.resume()
  t.equal(fake.openSessions, 0)
  const canceled = await upload('replace')
  await canceled.cancel()
  t.equal(fake.openSessions, 0)
  t.equal(await refusalOf(canceled.getStatus()), '404 itemNotFound')
})

t.test('a copy is watched at its monitor', async t => {
  const fake = await startOneDrive(t)
  const client = connect(fake)
  const { id } = fake.addFile('file', 'content')
  const copy = async (name: string) => {
    const request = client.api(`/me/drive/items/${id}/copy`).responseType(ResponseType.RAW)
    const response = (await request.post({ name, parentReference: { id: fake.drive.tree.root.id } })) as Response
    t.equal(response.status, 202)
    return async () => (await send(fake, response.headers.get('location') ?? '')).json()
  }
  const watch = await copy('copied')
  t.match(await watch(), { status: 'inProgress' })
  t.match(await watch(), { status: 'completed', resourceId: String })
  t.equal((await client.api('/me/drive/root:/copied').get()).size, 7)
  fake.copyPolls = 0
  t.match(await (await copy('copied'))(), { status: 'failed', error: { code: 'nameAlreadyExists' } })
})

t.test('a code works once and only with its verifier, and throttling says how long to wait', async t => {
  const fake = await startOneDrive(t)
  fake.faults.fail({ path: /me/, reason: 'activityLimitReached', retryAfter: 1 })
  const started = performance.now()
  await connect(fake).api('/me/drive').get()
  t.ok(performance.now() - started > 900, "Microsoft's client waits and repeats")
  const { clientId } = fake.oauth.rules
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:1/callback',
    scope: 'offline_access Files.ReadWrite.All',
    code_challenge: 'A'.repeat(43),
    code_challenge_method: 'S256',
  })
  const endpoint = `${fake.url}login/common/oauth2/v2.0`
  const answer = await fetch(`${endpoint}/authorize?${query}`, { redirect: 'manual' })
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', client_id: clientId, code, code_verifier: 'x'.repeat(43) }
  const redirect_uri = 'http://127.0.0.1:1/callback'
  const refused = await fetch(`${endpoint}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, redirect_uri }),
  })
  t.match(await refused.json(), { error: 'invalid_grant' })
  t.equal((await fetch(`${fake.url}login/unknown/oauth2/v2.0/authorize?${query}`)).status, 400)
})
