import { serverAudits } from 'graphql-http'
import t from 'tap'
import { startApp } from '../support/app.ts'

t.test('every audit of GraphQL over HTTP passes, including recommendations', async t => {
  const { url } = await startApp(t)
  const audits = serverAudits({ url: `${url}/graphql` })
  t.equal(audits.length, 61)
  for (const { id, name, fn } of audits) {
    const result = await fn()
    t.equal(result.status, 'ok', `${id} ${name}${result.status === 'ok' ? '' : `: ${result.reason}`}`)
  }
})
