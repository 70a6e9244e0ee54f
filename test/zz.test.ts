import t from 'tap'
import { startApp } from './support/app.ts'
t.test('x', async t => {
  console.log('imports', process.cpuUsage())
  await startApp(t)
  console.log('first', process.cpuUsage())
  const a = await startApp(t); 
  console.log('second', process.cpuUsage())
   await a.register('owner@example.org'); 
  console.log('reg', process.cpuUsage())
})
