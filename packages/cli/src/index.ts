export { overview, run } from './run.ts'
