import { createHash } from 'node:crypto'
import t from 'tap'
import { startApp } from '../support/app.ts'

t.test('GraphiQL loads nothing from another host', async t => {
  const app = await startApp(t)
  const response = await app.request('/graphiql')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  const html = await response.text()
  t.match(html, /"endpoint":"\/graphql"/)
  t.match(html, /login\(input/, 'the default query shows how to sign in')
  t.match(html, /Authorization/)

  const directives = new Map(
    (response.headers.get('content-security-policy') ?? '').split('; ').map(directive => {
      const [name, ...sources] = directive.split(' ')
      return [name, sources]
    }),
  )
  t.same(directives.get('default-src'), ["'none'"])
  t.same(directives.get('connect-src'), ["'self'"])
  t.same(directives.get('frame-ancestors'), ["'none'"])
  for (const [name, sources] of directives) {
    t.notMatch(sources.join(' '), /https?:|\*|unsafe-eval/, `${name} names no other host`)
  }
  t.notMatch(directives.get('script-src'), ["'unsafe-inline'"])

  const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)]
  t.ok(scripts.length > 0)
  for (const [, attributes, text = ''] of scripts) {
    t.equal(attributes, '', 'all scripts are inline')
    const hash = createHash('sha256').update(text).digest('base64')
    t.ok(directives.get('script-src')?.includes(`'sha256-${hash}'`), 'the policy lets it run')
  }
  const markup = html.replaceAll(/<script>[\s\S]*?<\/script>/g, '')
  t.notMatch(markup, /(?:src|href)=["']?(?:https?:)?\/\//)
  t.notMatch(markup, /@import|url\(\s*["']?(?!data:|["']?#)/, 'styles embed their fonts and images')
})
