// Draws points with WebGL. Places are numbers from 0 to 1 (65535 stands for none), those before and
// those after a move lie on the graphics card together: the card itself puts a point between them.
export const ABSENT = 65535
const SHAPES = { disc: 0, ring: 1, square: 2, diamond: 3, triangle: 4 }

const VERTEX = `#version 300 es
in vec2 before;
in vec2 after;
in vec4 colour;
uniform float moved;
uniform vec4 camera;
uniform float size;
uniform vec4 tint;
uniform float faint;
out vec4 shade;
void main() {
  bool was = before.x < 0.99999, is = after.x < 0.99999;
  float seen = was && is ? 1.0 : is ? moved : was ? 1.0 - moved : 0.0;
  vec2 place = was && is ? mix(before, after, moved) : is ? after : before;
  gl_Position = seen == 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(place * camera.xy + camera.zw, 0.0, 1.0);
  gl_PointSize = size;
  shade = tint.a > 0.0 ? tint : colour;
  shade.a *= seen * faint;
}`

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade;
uniform int shape;
uniform float size;
out vec4 ink;
void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float soft = 2.0 / size, line = 4.0 / size;
  float far = shape == 2 ? max(abs(at.x), abs(at.y)) + 0.12
    : shape == 3 ? abs(at.x) + abs(at.y)
    : shape == 4 ? max(0.9 * abs(at.x) - 0.5 * at.y + 0.45, at.y + 0.15)
    : length(at);
  float cover = 1.0 - smoothstep(1.0 - soft, 1.0, far);
  if (shape > 0) cover *= smoothstep(1.0 - line - soft, 1.0 - line, far);
  ink = vec4(shade.rgb, shade.a * cover);
}`

// Raises an error where the browser has no WebGL.
export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false })
    if (!gl) throw new Error("WebGL is missing")
    Object.assign(this, { canvas, gl, groups: new Map(), size: 0 })
    this.prepare()
  }

  prepare() {
    const { gl } = this
    const program = gl.createProgram()
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ]) {
      const shader = gl.createShader(kind)
      gl.shaderSource(shader, source)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
    }
    gl.linkProgram(program)
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
      throw new Error(gl.getProgramInfoLog(program))
    gl.useProgram(program)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA)
    const at = (name) => [name, gl.getUniformLocation(program, name)]
    const names = ["moved", "camera", "size", "tint", "faint", "shape"]
    this.uniform = Object.fromEntries(names.map(at))
    const field = (name, count, type) => {
      const place = gl.getAttribLocation(program, name)
      return [name, { place, count, type, buffer: gl.createBuffer() }]
    }
    this.fields = new Map([
      field("before", 2, gl.UNSIGNED_SHORT),
      field("after", 2, gl.UNSIGNED_SHORT),
      field("colour", 4, gl.UNSIGNED_BYTE),
    ])
    this.groups.clear()
  }

  set(name, values) {
    const { gl } = this
    const field = this.fields.get(name)
    gl.bindBuffer(gl.ARRAY_BUFFER, field.buffer)
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW)
    gl.enableVertexAttribArray(field.place)
    gl.vertexAttribPointer(field.place, field.count, field.type, true, 0, 0)
    if (name !== "colour") this.size = values.length / 2
  }

  // Points that are drawn again, on top of all: the rows of a group, by its name.
  setGroup(name, rows) {
    const { gl } = this
    if (!this.groups.has(name)) this.groups.set(name, { buffer: gl.createBuffer() })
    const group = this.groups.get(name)
    group.count = rows.length
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, group.buffer)
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(rows), gl.DYNAMIC_DRAW)
  }

  // Args: passes: { group, shape, size, tint, faint }, the first below; without a group, all points.
  draw({ camera, moved, paper, passes }) {
    const { gl, uniform } = this
    gl.viewport(0, 0, this.canvas.width, this.canvas.height)
    gl.clearColor(...paper.map((part) => part / 255), 1)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.uniform4f(uniform.camera, ...camera)
    gl.uniform1f(uniform.moved, moved)
    for (const { group, shape = "disc", size, tint, faint = 1 } of passes) {
      gl.uniform1i(uniform.shape, SHAPES[shape])
      gl.uniform1f(uniform.size, size)
      gl.uniform1f(uniform.faint, faint)
      gl.uniform4f(uniform.tint, ...(tint ? [...tint.map((part) => part / 255), 1] : [0, 0, 0, 0]))
      const known = this.groups.get(group)
      if (group === undefined) gl.drawArrays(gl.POINTS, 0, this.size)
      else if (known?.count) {
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, known.buffer)
        gl.drawElements(gl.POINTS, known.count, gl.UNSIGNED_INT, 0)
      }
    }
  }
}
