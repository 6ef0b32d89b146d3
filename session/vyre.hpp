// SPDX-License-Identifier: MIT
// vyre.hpp, installed as <vyre/vyre.hpp>: session.h for C++17.  Header only, nothing but the library.
//
//   vyre::module m = vyre::module::load("model.vyre");      // any file that the command takes
//   vyre::session s;                                        // the best Vulkan device
//   vyre::task g = s.gradient(m, {.wrt = {"w"}});           // C++20; in 17: vyre::settings o; o.wrt = …
//   g.set("w", w).set("x", {rows, columns}, x).set("y", y); // vectors, or pointers and shapes
//   std::vector<float> slope = g.run().read<float>("grad_w");
//
// What goes wrong is thrown as vyre::error, with code, place and fix.  Objects own what they wrap,
// move, and do not copy; a task is destroyed before its session.  One thread at a time uses a
// session with its tasks.
#ifndef VYRE_HPP
#define VYRE_HPP

#include "vyre/vyre.h"

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace vyre {

class error : public std::runtime_error {
  public:
    error(const vy_diag &d, const std::string &message) : std::runtime_error(message), diag_(d) {}
    const char *code() const noexcept { return diag_.code; } // "E0201"
    const char *text() const noexcept { return diag_.text; }
    const char *fix() const noexcept { return diag_.fix; }
    unsigned line() const noexcept { return diag_.line; }
    unsigned column() const noexcept { return diag_.column; }

  private:
    vy_diag diag_;
};

namespace detail {

[[noreturn]] inline void raise(const vy_diag &d, const vy_module *m = nullptr)
{
    std::string text(2000, '\0');
    const std::size_t n = m ? vy_module_diag_format(m, &d, false, &text[0], text.size())
                            : vy_diag_format(&d, nullptr, nullptr, 0, false, &text[0], text.size());
    text.resize(n < text.size() ? n : text.size() - 1);
    throw error(d, text);
}

// The element type of the language that a type of C++ is.
template <class T> constexpr vy_type type_of()
{
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "elements are numbers");
    if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? VY_F32 : VY_F64;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? VY_I8 : sizeof(T) == 2 ? VY_I16 : sizeof(T) == 4 ? VY_I32 : VY_I64;
    else
        return sizeof(T) == 1 ? VY_U8 : sizeof(T) == 2 ? VY_U16 : sizeof(T) == 4 ? VY_U32 : VY_U64;
}

inline std::vector<const char *> pointers(const std::vector<std::string> &names)
{
    std::vector<const char *> out;
    for (const std::string &name : names) out.push_back(name.c_str());
    return out;
}

} // namespace detail

class module {
  public:
    // A file of any kind (session/load.h).
    static module load(const std::string &path, const vys_load_options *options = nullptr)
    {
        vy_diag d{};
        vy_module *m = nullptr;
        const bool ok = vys_load(path.c_str(), options, &m, &d);
        return module(m, ok, d);
    }
    // A text; `name` is shown in errors, and imports are looked for in its folder.
    static module parse(const std::string &text, const std::string &name = "text")
    {
        vy_diag d{};
        vy_module *m = nullptr;
        const bool ok = vys_load_data(text.data(), text.size(), name.c_str(), nullptr, &m, &d);
        return module(m, ok, d);
    }
    module(module &&o) noexcept :m_(std::exchange(o.m_, nullptr)) {}
    module &operator=(module &&o) noexcept
    {
        std::swap(m_, o.m_);
        return *this;
    }
    ~module() { vy_module_free(m_); }
    std::string text() const
    {
        std::size_t size = 0;
        char *s = vy_print(m_, &size);
        if (!s) throw std::bad_alloc();
        std::string out(s, size);
        std::free(s);
        return out;
    }
    const vy_module *get() const noexcept { return m_; }

  private:
    module(vy_module *m, bool ok, const vy_diag &d) :m_(m)
    {
        if (ok) return;
        struct guard {
            vy_module *m;
            ~guard() { vy_module_free(m); }
        } owner{std::exchange(m_, nullptr)};
        detail::raise(d, owner.m);
    }
    vy_module *m_;
};

// As vys_settings; `more` has what is not here.
struct settings {
    std::string program{};          // "": the only one, else the last pipeline
    std::vector<std::string> wrt{}; // empty: all
    std::vector<std::string> of{};  // empty: all
    unsigned order = 1;
    bool with_value = false, seed_buffer = false, deterministic = false;
    vys_settings more{};
};

class task {
  public:
    task(task &&o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
    task &operator=(task &&o) noexcept
    {
        std::swap(t_, o.t_);
        return *this;
    }
    ~task() { vys_task_free(t_); }
    // Elements with a shape, slowest axis first; data nullptr: zeros, or only the shape of an output.
    template <class T>
    task &set(const std::string &name, const std::vector<std::uint64_t> &shape, const T *data)
    {
        vy_diag d{};
        if (!vys_set(t_, name.c_str(), detail::type_of<T>(), (std::uint32_t)shape.size(),
                     shape.data(), data, &d))
            detail::raise(d);
        return *this;
    }
    template <class T>
    task &set(const std::string &name, const std::vector<std::uint64_t> &shape,
              const std::vector<T> &data)
    {
        std::uint64_t count = 1;
        for (const std::uint64_t n : shape) count *= n;
        if (count != data.size())
            throw std::invalid_argument(name + ": its shape and its number of elements differ");
        static const T none{}; // a vector without elements may have no data
        return set(name, shape, data.empty() ? &none : data.data());
    }
    template <class T> task &set(const std::string &name, const std::vector<T> &data)
    {
        return set(name, {data.size()}, data);
    }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    task &set(const std::string &name, T value)
    {
        vy_diag d{};
        bool ok;
        if constexpr (std::is_floating_point_v<T>)
            ok = vys_set_float(t_, name.c_str(), (double)value, &d);
        else
            ok = vys_set_int(t_, name.c_str(), (std::int64_t)value, &d);
        if (!ok) detail::raise(d);
        return *this;
    }
    task &run()
    {
        vy_diag d{};
        if (!vys_run(t_, &d)) detail::raise(d);
        return *this;
    }
    std::vector<vys_parameter> parameters() const
    {
        std::vector<vys_parameter> out;
        vys_parameter p;
        for (std::uint32_t i = 0; vys_task_parameter(t_, i, &p); i++) out.push_back(p);
        return out;
    }
    // A result of the last run.
    template <class T> std::vector<T> read(const std::string &name) const
    {
        vy_diag d{};
        std::uint64_t count = 0;
        for (const vys_parameter &p : parameters())
            if (name == p.name) count = p.count;
        std::vector<T> out(count);
        if (!vys_read(t_, name.c_str(), detail::type_of<T>(), out.data(), count * sizeof(T), &d))
            detail::raise(d);
        return out;
    }
    vys_stats stats() const { return vys_task_stats(t_); }
    vys_task *get() const noexcept { return t_; }

  private:
    friend class session;
    explicit task(vys_task *t) : t_(t) {}
    vys_task *t_;
};

class session {
  public:
    // A device by a part of its name or its index; "": VYRE_DEVICE, else the best; "interpreter".
    explicit session(const std::string &device = "")
    {
        vys_session_desc desc{};
        vy_diag d{};
        desc.interpreter = device == "interpreter";
        desc.device = device.empty() || desc.interpreter ? nullptr : device.c_str();
        if (!vys_open(&desc, &s_, &d)) detail::raise(d);
    }
    session(session &&o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
    session &operator=(session &&o) noexcept
    {
        std::swap(s_, o.s_);
        return *this;
    }
    ~session() { vys_close(s_); }
    task program(const module &m, settings o = {}) { return make(m, o, 0, false); }
    task gradient(const module &m, settings o = {}) { return make(m, o, o.order, false); }
    task tangents(const module &m, settings o = {}) { return make(m, o, 1, true); } // forward mode
    vys_session *get() const noexcept { return s_; }

  private:
    task make(const module &m, const settings &o, unsigned order, bool forward)
    {
        const std::vector<const char *> wrt = detail::pointers(o.wrt), of = detail::pointers(o.of);
        vys_settings s = o.more;
        s.program = o.program.empty() ? nullptr : o.program.c_str();
        s.wrt = wrt.data();
        s.wrt_count = (std::uint32_t)wrt.size();
        s.of = of.data();
        s.of_count = (std::uint32_t)of.size();
        s.order = order;
        s.forward = forward;
        s.with_value = o.with_value;
        s.seed_buffer = o.seed_buffer;
        s.deterministic = o.deterministic;
        vy_diag d{};
        vys_task *t = nullptr;
        if (!vys_task_build(s_, m.get(), &s, &t, &d)) detail::raise(d, m.get());
        return task(t);
    }
    vys_session *s_ = nullptr;
};

} // namespace vyre

#endif
