// Functions for the programs in JavaScript: the URL and the keys of the demo, and the calls of an assistant.
import { check, equal } from './helpers.mjs'

const demo = JSON.parse(process.env.KARTEI_DEMO)

export const address = new URL(demo.mcpUrl)
export const keys = demo.keys

// request returns the options of a transport: the headers of each request.
export const request = (key) => ({ requestInit: { headers: { Authorization: `Bearer ${key}`, 'Accept-Language': 'en' } } })

// failed checks that a tool has failed: with a sentence that begins with the code, and with the problem.
export function failed(result, code) {
  check(`an error, got ${JSON.stringify(result.structuredContent)}`, result.isError)
  check(`${code}, got ${result.content[0].text}`, result.content[0].text.startsWith(`${code}: `))
  const problem = JSON.parse(result.content[1].text)
  equal('the code of the problem', problem.code, code)
  return problem
}

// done checks that a tool has succeeded, and that its text equals its structured content.
export function done(result) {
  check(`a result, got ${result.content[0]?.text}`, !result.isError)
  equal('the text', JSON.stringify(JSON.parse(result.content[0].text)), JSON.stringify(result.structuredContent))
  return result.structuredContent
}

// journey does the calls of an assistant that knows only the URL and a key. It finds a contact by a part of
// the name and creates a task with a date for the contact. Its change conflicts with another change, and
// its key does not permit a deletion.
export async function journey(call, read) {
  const found = done(await call('contacts_list', { q: 'müll', limit: 5 })).data
  check('contacts with that name', found.length > 0 && found.length <= 5)
  const contact = done(await call('contacts_get', { id: found[0].id }))
  const due = '2027-03-01T09:00:00Z'
  const task = done(await call('tasks_create', { title: 'Call back', dueAt: due, contactId: contact.id }))
  equal('the contact of the task', task.contactId, contact.id)
  const changed = done(await call('contacts_update', { id: contact.id, revision: contact.revision, jobTitle: `Judge ${Date.now()}` }))
  const problem = failed(await call('contacts_update', { id: contact.id, revision: contact.revision, note: 'Late' }), 'PRECONDITION_FAILED')
  equal('currentRevision', problem.currentRevision, changed.revision)
  equal('the note', done(await call('contacts_update', { id: contact.id, revision: problem.currentRevision, note: 'Late' })).note, 'Late')
  failed(await read('tasks_delete', { id: task.id, revision: task.revision }), 'FORBIDDEN')
  equal('deleted', done(await call('tasks_delete', { id: task.id, revision: task.revision })).deleted, true)
}
