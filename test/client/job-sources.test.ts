/** How the console and the command line divide many sources among jobs. */
import t from 'tap'
import { sourcesOfJobs } from '../../packages/client/src/jobs.ts'

const pathsOf = (count: number, bytes: number) => Array.from({ length: count }, () => ({ path: 'ä'.repeat(bytes / 2) }))

t.test('each job has as many sources as the server accepts', async t => {
  const cases: [{ path: string }[], number[]][] = [
    [[], []],
    [pathsOf(1, 10), [1]],
    [pathsOf(250, 10), [100, 100, 50]],
    [pathsOf(33, 4096), [16, 16, 1]],
    [
      [...pathsOf(1, 100), ...pathsOf(17, 4096)],
      [16, 2],
    ],
    // The server refuses such a path by itself.
    [pathsOf(2, 100_000), [1, 1]],
  ]
  for (const [all, expected] of cases) {
    const jobs = [...sourcesOfJobs(all)]
    t.same(
      jobs.map(sources => sources.length),
      expected,
    )
    t.same(jobs.flat(), all, 'all sources stay, in order')
  }
})
