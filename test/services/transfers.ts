import type { Test } from 'tap'
import type { TestApp } from '../support/app.ts'

const entryFields = '{ __typename id path name modifiedAt ... on File { size mimeType etag } }'
const operations = {
  rename: `mutation ($input: RenameInput!) { rename(input: $input) ${entryFields} }`,
  move: `mutation ($input: MoveInput!) { move(input: $input) ${entryFields} }`,
  copy: `mutation ($input: CopyInput!) { copy(input: $input) ${entryFields} }`,
  delete: 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
  createFolder: 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { __typename path name } }',
}

export const pageQuery = `query ($providerId: ID!, $path: String!, $first: Int, $after: String) {
  folder(providerId: $providerId, path: $path) {
    entries(first: $first, after: $after) { nodes { name path } edges { cursor node { name } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
  }
}`

/** Calls the API for the files of one provider. */
export interface ProviderClient {
  app: TestApp
  token: string
  providerId: string
  /** Runs a mutation on this provider and resolves with its result or the reason of its error. */
  run(name: keyof typeof operations, input: object): Promise<unknown>
  put(path: string, text: string): Promise<void>
  /** Resolves with null if the file is missing. */
  get(path: string): Promise<string | null>
  names(path: string): Promise<string[]>
}

export function providerClient(app: TestApp, token: string, providerId: string): ProviderClient {
  return {
    app,
    token,
    providerId,
    async run(name, input) {
      const { data, errors } = await app.graphql(operations[name], { input: { providerId, ...input } }, token)
      return errors[0]?.extensions.reason ?? data[name]
    },
    async put(path, text) {
      const response = await app.upload(token, providerId, path, text, '&conflict=replace')
      if (response.status !== 201) throw new Error(await response.text())
    },
    async get(path) {
      const response = await app.download(token, providerId, path)
      const text = await response.text()
      return response.status === 200 ? text : null
    },
    async names(path) {
      const { folder } = await app.ask(pageQuery, { providerId, path, first: 1000 }, token)
      return folder.entries.nodes.map((node: { name: string }) => node.name)
    },
  }
}

/** Tests copies and moves within one provider or between two. */
export async function transfers(t: Test, from: ProviderClient, to: ProviderClient): Promise<void> {
  const toProviderId = to.providerId
  await t.test('a file is copied and moved', async t => {
    await from.put('/a/file.txt', 'one')
    t.match(await from.run('copy', { path: '/a/file.txt', toProviderId, toPath: '/b/copy.txt' }), {
      __typename: 'File',
      path: '/b/copy.txt',
      size: 3,
      mimeType: 'text/plain',
    })
    t.equal(await to.get('/b/copy.txt'), 'one')
    t.equal(await from.get('/a/file.txt'), 'one')
    t.match(await from.run('move', { path: '/a/file.txt', toProviderId, toPath: '/b/moved.txt' }), {
      path: '/b/moved.txt',
    })
    t.equal(await to.get('/b/moved.txt'), 'one')
    t.equal(await from.get('/a/file.txt'), null)
  })

  await t.test('conflict decides what happens to a name that is taken', async t => {
    for (const operation of ['copy', 'move'] as const) {
      await from.put('/c/new.txt', 'new')
      await to.put(`/${operation}/taken.txt`, 'old')
      const input = { path: '/c/new.txt', toProviderId, toPath: `/${operation}/taken.txt` }
      t.equal(await from.run(operation, input), 'ALREADY_EXISTS')
      t.equal(await from.run(operation, { ...input, conflict: 'FAIL' }), 'ALREADY_EXISTS')
      t.equal(await to.get(`/${operation}/taken.txt`), 'old')
      t.match(await from.run(operation, { ...input, conflict: 'RENAME' }), { path: `/${operation}/taken (1).txt` })
      await from.put('/c/new.txt', 'newer')
      t.match(await from.run(operation, { ...input, conflict: 'RENAME' }), { path: `/${operation}/taken (2).txt` })
      t.equal(await to.get(`/${operation}/taken (1).txt`), 'new')
      await from.put('/c/new.txt', 'newest')
      t.match(await from.run(operation, { ...input, conflict: 'REPLACE' }), {
        path: `/${operation}/taken.txt`,
        size: 6,
      })
      t.equal(await to.get(`/${operation}/taken.txt`), 'newest')
    }
  })

  await t.test('a folder is copied and moved with its content', async t => {
    for (const operation of ['copy', 'move'] as const) {
      const source = `/tree-${operation}`
      await from.put(`${source}/one.txt`, '1')
      await from.put(`${source}/deep/er/two.txt`, '2')
      await from.run('createFolder', { path: `${source}/empty` })
      const target = `/target-${operation}`
      t.match(await from.run(operation, { path: source, toProviderId, toPath: target }), {
        __typename: 'Folder',
        path: target,
      })
      t.same((await to.names(target)).toSorted(), ['deep', 'empty', 'one.txt'])
      t.equal(await to.get(`${target}/deep/er/two.txt`), '2')
      t.equal(await from.get(`${source}/one.txt`), operation === 'copy' ? '1' : null)
      await from.put(`${source}/one.txt`, '1')
      t.equal(await from.run(operation, { path: source, toProviderId, toPath: target }), 'ALREADY_EXISTS')
      t.equal(
        await from.run(operation, { path: source, toProviderId, toPath: target, conflict: 'REPLACE' }),
        'NOT_EMPTY',
      )
      t.match(await from.run(operation, { path: source, toProviderId, toPath: target, conflict: 'RENAME' }), {
        path: `${target} (1)`,
      })
    }
  })

  await t.test('one of many concurrent transfers to one new name succeeds', async t => {
    const racers = Array.from({ length: 8 }, (_, index) => index)
    for (const operation of ['copy', 'move'] as const) {
      await Promise.all(racers.map(index => from.put(`/race/${operation}-${index}`, String(index))))
      const answers = await Promise.all(
        racers.map(index =>
          from.run(operation, { path: `/race/${operation}-${index}`, toProviderId, toPath: `/won-${operation}` }),
        ),
      )
      const winners = answers.flatMap((answer, index) => (typeof answer === 'object' ? [index] : []))
      t.equal(winners.length, 1, JSON.stringify(answers))
      t.equal(await to.get(`/won-${operation}`), String(winners[0]))
      t.equal(answers.filter(answer => answer === 'ALREADY_EXISTS').length, 7)
      const remaining = (await from.names('/race')).filter(name => name.startsWith(operation))
      t.equal(remaining.length, operation === 'copy' ? 8 : 7, 'the sources of refused moves remain')
    }
  })
}
